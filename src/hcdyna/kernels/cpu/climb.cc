// All k steps of a climb on max_a Q(s, a), one agent after the other (search_control/climbing.py is
// the reference), and which of its states are accepted.
#include "call.h"
#include "network.h"

constexpr int D = INPUTS;

struct Box {
  const float *low, *high;
  int pairs;  // so many (cos, sin) lead the state
};

// Pi: into the box, then each leading pair back to the unit circle; (0, 0) becomes angle 0.
INLINE void project(float* x, Box box) {
  for (int m = 0; m < D; ++m) {
    x[m] = x[m] < box.low[m] ? box.low[m] : x[m];  // what is not a number stays so
    x[m] = x[m] > box.high[m] ? box.high[m] : x[m];
  }
  for (int p = 0; p < box.pairs; ++p) {
    float c = x[2 * p], s = x[2 * p + 1];
    const float larger = fmaxf(fabsf(c), fabsf(s));
    c = larger > 0.f ? c / larger : 1.f;
    s = larger > 0.f ? s / larger : 0.f;
    const float length = sqrtf(c * c + s * s);
    x[2 * p] = c / length, x[2 * p + 1] = s / length;
  }
}

template <int LAYER = 0>
INLINE void forward_row(const Network& net, const float* x, float (*h)[256]) {
  constexpr int in = WIDTH[LAYER], out = WIDTH[LAYER + 1];
  const float* bias = net.own.at + bias_at(LAYER);
  row_product<in, out>(
      LAYER == 0 ? x : h[LAYER], net.own.at + weights_at(LAYER),
      [=](int j) INLINE_LAMBDA { return load<LANES>(bias + j); },
      [=](int j, Vec<LANES> z) INLINE_LAMBDA { store<LANES>(h[LAYER + 1] + j, squash<LANES>(z)); });
  if constexpr (LAYER + 1 < LAST) forward_row<LAYER + 1>(net, x, h);
}

// e: the errors of a hidden layer's input, whose output h[LAYER] is; leaves those of the first one.
template <int LAYER>
INLINE void backward_row(const Network& net, float (*h)[256], float (*e)[256]) {
  if constexpr (LAYER > 1) {
    constexpr int below = WIDTH[LAYER - 1];
    row_product<WIDTH[LAYER], below>(
        e[LAYER], net.back + weights_at(LAYER - 1), [](int) INLINE_LAMBDA { return Vec<LANES>{}; },
        [=](int j, Vec<LANES> g) INLINE_LAMBDA {
          store<LANES>(e[LAYER - 1] + j, sloped<LANES>(g, load<LANES>(h[LAYER - 1] + j)));
        });
    backward_row<LAYER - 1>(net, h, e);
  }
}

template <int COUNT>
INLINE float dot(const float* a, const float* b) {
  Vec<LANES> total = {};
#pragma GCC unroll 16
  for (int j = 0; j < COUNT; j += LANES) total += load<LANES>(a + j) * load<LANES>(b + j);
  return sum<LANES>(total);
}

// The gradient [D] of the highest output at x.
INLINE void slope_at(const Network& net, const float* x, float* gradient) {
  alignas(64) float h[LAYERS][256], e[LAYERS][256];
  forward_row(net, x, h);
  const float* rows = net.own.at + weights_at(LAST);
  const float* bias = net.own.at + bias_at(LAST);
  float q[OUTPUTS], top = -INFINITY, best = 0.f;
  for (int a = 0; a < OUTPUTS; ++a) {
    q[a] = dot<ABOVE>(rows + a * ABOVE, h[LAST]) + bias[a];
    top = q[a] > top ? q[a] : top;
  }
  // Best actions share the gradient evenly, as in JAX; without biases all are alike at s = 0.
  for (int a = 0; a < OUTPUTS; ++a) best += q[a] == top ? 1.f : 0.f;
  for (int a = 0; a < OUTPUTS; ++a) q[a] = q[a] == top ? 1.f / best : 0.f;
  for (int j = 0; j < ABOVE; j += LANES) {
    Vec<LANES> weight = {};
    for (int a = 0; a < OUTPUTS; ++a) weight += q[a] * load<LANES>(rows + a * ABOVE + j);
    store<LANES>(e[LAST] + j, sloped<LANES>(weight, load<LANES>(h[LAST] + j)));
  }
  backward_row<LAST>(net, h, e);
  for (int m = 0; m < D; ++m) gradient[m] = dot<WIDTH[1]>(net.own.at + m * WIDTH[1], e[1]);
}

// Whether x is at least `threshold` from the last accepted state.
struct Acceptance {
  float threshold, last[D];
  int left;  // how many may still be accepted

  Acceptance(float threshold, int most) : threshold(threshold), left(most) {
    for (float& l : last) l = INFINITY;
  }
  INLINE bool operator()(const float* x, bool skip) {
    float apart = 0.f;
    for (int m = 0; m < D; ++m) apart += (last[m] - x[m]) * (last[m] - x[m]);
    if (!(sqrtf(apart / D) >= threshold) || skip || left == 0) return false;
    for (int m = 0; m < D; ++m) last[m] = x[m];
    --left;
    return true;
  }
};

static void climb(Call call) {
  static thread_local Network* room = nullptr;
  if (room == nullptr) room = new Network;
  Network& net = *room;
  const bool normalise = call.number("normalise");
  const int most = call.number("most"), pairs = call.number("pairs");
  const float* params[2 * LAYERS];
  for (auto& array : params) array = call.in();
  const float *noise = call.in(), *start = call.in(), *covariance = call.in();
  const float *step_size = call.in(), *threshold = call.in(), *ends = call.in();
  const long steps = size_of(call.result(1), 0), agents = agents_in(call.result(1), 1);
  float* states = call.out();
  bool* accepted = call.out<bool>();
  for (long agent = 0; agent < agents; ++agent) {
    fetch(net.own, params, agent);
    renew_back(net);
    float x[D], turned[D * D];
    std::memcpy(x, start + agent * D, sizeof x);
    transpose(covariance + agent * D * D, D, D, turned, D);
    const Box box{ends + 2 * agent * D, ends + (2 * agent + 1) * D, pairs};
    Acceptance accept(threshold[agent], most);
    for (long k = 0; k < steps; ++k, noise += D, states += D, ++accepted) {
      float gradient[D], direction[D] = {}, squares = 0.f;
      slope_at(net, x, gradient);
      for (int i = 0; i < D; ++i)
        for (int m = 0; m < D; ++m) direction[m] += turned[i * D + m] * gradient[i];
      for (int m = 0; m < D; ++m) squares += direction[m] * direction[m];
      const float length = sqrtf(squares);
      const bool usable = length < INFINITY && length > 1e-8f;
      const float scale = normalise ? step_size[agent] / length : step_size[agent];
      for (int m = 0; m < D; ++m) x[m] = x[m] + (usable ? scale * direction[m] : 0.f) + noise[m];
      project(x, box);
      std::memcpy(states, x, sizeof x);
      *accepted = accept(x, false);
    }
  }
}

// The same choice for states that were climbed before, where some are to be skipped.
static void accept(Call call) {
  const float *states = call.in(), *threshold = call.in();
  const bool* skip = call.in<bool>();
  const long steps = size_of(call.result(0), 0), agents = agents_in(call.result(0), 1);
  bool* accepted = call.out<bool>();
  for (long agent = 0; agent < agents; ++agent) {
    Acceptance accept(threshold[agent], call.number("most"));
    for (long k = 0; k < steps; ++k, states += D) *accepted++ = accept(states, *skip++);
  }
}

KERNEL(hcdyna_climb, climb)
KERNEL(hcdyna_accept, accept)
