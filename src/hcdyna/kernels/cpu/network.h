// The perceptron of one agent for a mini-batch of rows: values forward, gradients back.
// Macros, given when the sources are compiled:
//   WIDTHS  state variables, units of each hidden layer (multiples of 16), outputs; with commas
//   TANH    0 (ReLU) or 1
#pragma once
#include <cmath>
#include <cstring>
#include "vectors.h"

constexpr int WIDTH[] = {WIDTHS};
constexpr int LAYERS = sizeof(WIDTH) / sizeof(int) - 1, LAST = LAYERS - 1;
constexpr int INPUTS = WIDTH[0], OUTPUTS = WIDTH[LAYERS], ABOVE = WIDTH[LAST];
constexpr int MOST_ROWS = 256;

// Outputs are filled up with zeros to what a vector holds.
constexpr int OUTPUTS_FULL = OUTPUTS <= 4 ? 4 : OUTPUTS <= 8 ? 8 : round_up(OUTPUTS, 16);
constexpr int full(int layer) { return layer == LAYERS ? OUTPUTS_FULL : WIDTH[layer]; }

// All parameters of a network are one row: weights [in, out] and bias of each layer, but the weights
// of the last one [out, in].
constexpr int weights_in(int layer) { return WIDTH[layer] * WIDTH[layer + 1]; }
constexpr int bias_in(int layer) { return round_up(WIDTH[layer + 1], 16); }
constexpr int weights_at(int layer) {
  return layer == 0 ? 0 : weights_at(layer - 1) + weights_in(layer - 1) + bias_in(layer - 1);
}
constexpr int bias_at(int layer) { return weights_at(layer) + weights_in(layer); }
constexpr int PARAMETERS = weights_at(LAYERS);
constexpr int values_at(int layer) { return layer == 0 ? 0 : values_at(layer - 1) + MOST_ROWS * full(layer - 1); }

struct alignas(64) Parameters {
  float at[PARAMETERS];
};

struct alignas(64) Network {
  Parameters own;
  float last[ABOVE * OUTPUTS_FULL];  // the last layer's weights as [in, out]
  float back[PARAMETERS];            // the other layers' weights as [out, in]
};

// Of every layer, [rows, full(layer)]; the first are the states, the last the outputs.
struct alignas(64) Values {
  float at[values_at(LAYERS) + MOST_ROWS * OUTPUTS_FULL];
  template <int LAYER>
  float* of() { return at + values_at(LAYER); }
  float* states() { return of<0>(); }
  float* outputs() { return of<LAYERS>(); }
};

#if TANH
// A quotient of polynomials in the range where tanh differs from ±1.
template <int N>
INLINE Vec<N> squash(Vec<N> z) {
  const Vec<N> limit = Vec<N>{} + 7.90531110763549805f;
  Vec<N> x = z > limit ? limit : z;
  x = x < -limit ? -limit : x;
  const Vec<N> y = x * x;
  Vec<N> p = y * -2.76076847742355e-16f + 2.00018790482477e-13f;
  p = p * y - 8.60467152213735e-11f;
  p = p * y + 5.12229709037114e-08f;
  p = p * y + 1.48572235717979e-05f;
  p = p * y + 6.37261928875436e-04f;
  p = p * y + 4.89352455891786e-03f;
  Vec<N> q = y * 1.19825839466702e-06f + 1.18534705686654e-04f;
  q = q * y + 2.26843463243900e-03f;
  q = q * y + 4.89352518554385e-03f;
  return x * p / q;
}
// The slope at the place where the output is y, times e.
template <int N>
INLINE Vec<N> sloped(Vec<N> e, Vec<N> y) { return e * (1.f - y * y); }
#else
template <int N>
INLINE Vec<N> squash(Vec<N> z) { return z <= 0.f ? Vec<N>{} : z; }  // what is not a number stays so
template <int N>
INLINE Vec<N> sloped(Vec<N> e, Vec<N> y) { return y <= 0.f ? Vec<N>{} : e; }
#endif

// How JAX holds the parameters of many agents: for each layer weights [agents, in, out] and bias
// [agents, out]. `move(ours, theirs, count, stride)` gets pairs of places.
template <int LAYER = 0, typename Move>
INLINE void each_array(float* own, float* const* theirs, long agent, Move move) {
  constexpr int in = WIDTH[LAYER], out = WIDTH[LAYER + 1];
  move(own + weights_at(LAYER), theirs[2 * LAYER] + agent * in * out, in, out, LAYER == LAST);
  move(own + bias_at(LAYER), theirs[2 * LAYER + 1] + agent * out, 1, out, false);
  if constexpr (LAYER < LAST) each_array<LAYER + 1>(own, theirs, agent, move);
}

inline void fetch(Parameters& own, const float* const* theirs, long agent) {
  std::memset(&own, 0, sizeof own);
  each_array(own.at, const_cast<float* const*>(theirs), agent,
             [](float* ours, float* theirs, int in, int out, bool turned) {
               if (turned) transpose(theirs, in, out, ours, in);
               else std::memcpy(ours, theirs, sizeof(float) * in * out);
             });
}

inline void keep(Parameters& own, float* const* theirs, long agent) {
  each_array(own.at, theirs, agent, [](float* ours, float* theirs, int in, int out, bool turned) {
    if (turned) transpose(ours, out, in, theirs, out);
    else std::memcpy(theirs, ours, sizeof(float) * in * out);
  });
}

// What is derived from the parameters, after these have changed.
inline void renew_last(Network& net) {
  transpose(net.own.at + weights_at(LAST), OUTPUTS, ABOVE, net.last, OUTPUTS_FULL);
}

template <int LAYER = 1>
INLINE void renew_back(Network& net) {
  if constexpr (LAYER < LAST) {
    constexpr int in = WIDTH[LAYER], out = WIDTH[LAYER + 1];
    transpose(net.own.at + weights_at(LAYER), in, out, net.back + weights_at(LAYER), in);
    renew_back<LAYER + 1>(net);
  }
}

// The values of all layers, from the states in `values`; `rows` is a multiple of TILE.
template <int LAYER = 0>
INLINE void forward(const Network& net, Values& values, int rows) {
  constexpr int in = full(LAYER), out = full(LAYER + 1), N = smaller(out, LANES);
  const float* bias = net.own.at + bias_at(LAYER);
  const float* weights = LAYER == LAST ? net.last : net.own.at + weights_at(LAYER);
  float* to = values.of<LAYER + 1>();
  product<out>(
      rows, in, Matrix{values.of<LAYER>(), in, 1}, weights,
      [=](int j) INLINE_LAMBDA { return load<N>(bias + j); },
      [=](int i, int j, Vec<N> z) INLINE_LAMBDA {
        store<N>(to + i * out + j, LAYER == LAST ? z : squash<N>(z));
      });
  if constexpr (LAYER < LAST) forward<LAYER + 1>(net, values, rows);
}

// The gradient of all parameters from the `errors` of the outputs, whose other layers are filled in.
template <int LAYER = LAST>
INLINE void backward(const Network& net, Values& values, Values& errors, Parameters& gradient,
                     int rows) {
  constexpr int in = full(LAYER), out = full(LAYER + 1);
  const float* error = errors.of<LAYER + 1>();
  const float* below = values.of<LAYER>();
  float* weights = gradient.at + weights_at(LAYER);
  float* bias = gradient.at + bias_at(LAYER);
  constexpr int N = smaller(out, LANES);
  for (int j = 0; j < out; j += N) {
    Vec<N> total = {};
    for (int r = 0; r < rows; ++r) total += load<N>(error + r * out + j);
    store<N>(bias + j, total);
  }
  const auto zero = [](int) INLINE_LAMBDA { return Vec<LANES>{}; };
  if constexpr (LAYER == LAST)
    product<in>(OUTPUTS, rows, Matrix{error, 1, out}, below, zero,
                [=](int i, int j, Vec<LANES> g) INLINE_LAMBDA { store<LANES>(weights + i * in + j, g); });
  else
    product<out>(WIDTH[LAYER], rows, Matrix{below, 1, in}, error, zero,
                 [=](int i, int j, Vec<LANES> g) INLINE_LAMBDA { store<LANES>(weights + i * out + j, g); });
  if constexpr (LAYER > 0) {
    const float* turned = LAYER == LAST ? net.own.at + weights_at(LAYER) : net.back + weights_at(LAYER);
    float* to = errors.of<LAYER>();
    product<in>(rows, LAYER == LAST ? OUTPUTS : out, Matrix{error, out, 1}, turned, zero,
                [=](int i, int j, Vec<LANES> e) INLINE_LAMBDA {
                  store<LANES>(to + i * in + j, sloped<LANES>(e, load<LANES>(below + i * in + j)));
                });
    backward<LAYER - 1>(net, values, errors, gradient, rows);
  }
}

struct Adam {
  float rate, correction;
};

// A step down the gradient, scaled, with the moments that go with it (numerics/adam.py).
inline void descend(Parameters& own, Parameters& mean, Parameters& square,
                    const Parameters& gradient, float scale, Adam how) {
  constexpr float BETA1 = 0.9f, BETA2 = 0.999f, EPSILON = 1e-8f;
  for (int i = 0; i < PARAMETERS; ++i) {
    const float g = scale * gradient.at[i];
    const float m = BETA1 * mean.at[i] + (1.f - BETA1) * g;
    const float v = BETA2 * square.at[i] + (1.f - BETA2) * g * g;
    mean.at[i] = m, square.at[i] = v;
    own.at[i] -= how.rate * m / (sqrtf(how.correction * v) + EPSILON);
  }
}
