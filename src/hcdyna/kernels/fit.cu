// One update of a network that learns the world, one block a network (models/ensemble.py is the
// reference). A warp takes 16 rows of the mini-batch through the network and back; then each warp
// has the gradient of some parameters. Further macro: the ROWS of a mini-batch.
#include "adam.cuh"
#include "buffers.cuh"
#include "model.cuh"

constexpr int WARPS = (ROWS + 15) / 16, FULL = 16 * WARPS, KS = FULL / 8, THREADS = 32 * WARPS;
constexpr int MT = H / 16;                 // tiles of 16 rows of W2
constexpr int OWN = NT / 2;                // tiles of W2 in one go, all in one row of tiles
constexpr int BACK = 8 * (OT | 1);         // keeps reads of W3 free of bank conflicts
constexpr int FT = (OT + 1) / 2;           // tiles of 16 outputs
constexpr int LINE = FULL + 4;
static_assert(D < 16, "one tile of lines for states and the bias");

struct Fit {
  const float *params[6], *mean[6], *square[6];
  const float *rate, *correction;  // [networks] of Adam, with its powers
  const float* questions;          // [networks, ROWS, D]
  const int* action;               // [networks, ROWS]
  const float *truth, *ended, *move, *rest;  // [networks, ROWS, (each - 1)]; see models/fitting.py
  float *new_params[6], *new_mean[6], *new_square[6], *loss;
  int each;  // numbers that are answered for an action
};

struct Shared {
  Net net;
  alignas(16) float w2[H * STRIDE];       // both as they are kept, for the way back
  alignas(16) float w3[H * BACK];
  alignas(16) float before[FULL * STRIDE];  // what a layer was given …
  alignas(16) float behind[FULL * STRIDE];  // … and the errors of what it gave
  float inputs[16 * LINE];                // states and ones, by line
  float faults[16 * FT * LINE];           // errors of the outputs, by line
  float losses[WARPS];
};

// 16 rows forward and back: activations, errors of the layers' inputs, and those of the outputs.
__device__ inline void errors(Shared& s, const Fit& in, size_t network, int warp, int g, int t,
                              Layer& h1, Layer& h2, Layer& t1, Layer& t2) {
  const int first = 16 * warp + g;
  float x[2][D];
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int m = 0; m < D; ++m) {
      const int row = first + 8 * r;
      x[r][m] = row < ROWS ? in.questions[(network * ROWS + row) * D + m] : 0.f;
    }
  Outputs out;
  forward(s.net, x, h1, h2, out, g, t);
  float loss = 0.f;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + 8 * r;
    const size_t at = network * ROWS + (row < ROWS ? row : 0);
    const int begin = in.action[at] * in.each;
    const float move = row < ROWS ? in.move[at] : 0.f, rest = row < ROWS ? in.rest[at] : 0.f;
    const float ended = in.ended[at];
#pragma unroll
    for (int j = 0; j < OT; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int answer = 8 * j + 2 * t + c - begin;
        const float said = out[j][2 * r + c];
        float error = 0.f;
        if (row < ROWS && answer >= 0 && answer < in.each - 1) {
          const float weight = answer < in.each - 2 ? move : rest;
          const float away = said - in.truth[at * (in.each - 1) + answer];
          loss += weight * away * away;
          error = 2.f * weight * away;
        } else if (row < ROWS && answer == in.each - 1) {
          const float small = expf(-fabsf(said));
          loss += rest * (fmaxf(said, 0.f) - said * ended + log1pf(small));
          error = rest * ((said >= 0.f ? 1.f : small) / (1.f + small) - ended);
        }
        out[j][2 * r + c] = error;
        s.faults[(8 * j + 2 * t + c) * LINE + row] = error;
      }
  }
  loss = sum_over_warp(loss);
  if (g == 0 && t == 0) s.losses[warp] = loss;
#pragma unroll
  for (int line = 0; line <= D; ++line)
    if ((line & 3) == t)
#pragma unroll
      for (int r = 0; r < 2; ++r)
        s.inputs[line * LINE + first + 8 * r] = line < D ? x[r][line < D ? line : 0] : 1.f;
#pragma unroll
  for (int j = 0; j < NT; ++j) t1[j][0] = t1[j][1] = t1[j][2] = t1[j][3] = 0.f;
#pragma unroll
  for (int j = 0; j < NT; ++j) t2[j][0] = t2[j][1] = t2[j][2] = t2[j][3] = 0.f;
  multiply_layer<PRECISE, BACK>(t2, out, s.w3, g, t);
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int c = 0; c < 4; ++c) t2[j][c] *= slope(h2[j][c]);
  multiply_layer(t1, t2, s.w2, g, t);
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int c = 0; c < 4; ++c) t1[j][c] *= slope(h1[j][c]);
}

// The sum over all rows of the products of 16 lines `left` (line, row) and columns 8 `j` … of
// a layer.
template <typename Left>
__device__ inline void over_rows(Tile& sum, Left left, const float* right, int j, int g, int t) {
  Tile parts[2] = {};  // so that products need not wait for each other
#pragma unroll 4
  for (int k = 0; k < KS; ++k) {
    const float* b = right + (8 * k + t) * STRIDE + 8 * j + g;
    multiply(parts[k & 1], left(g, 8 * k + t), left(g + 8, 8 * k + t), left(g, 8 * k + t + 4),
             left(g + 8, 8 * k + t + 4), b[0], b[4 * STRIDE]);
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) sum[c] = parts[0][c] + parts[1][c];
}

__global__ void __launch_bounds__(THREADS) fit_kernel(Fit in) {
  static_assert(sizeof(Shared) <= SHARED_MEMORY, "too many rows, units or outputs");
  extern __shared__ float4 raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
  const size_t network = blockIdx.x;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  fetch(s.net, in.params, network, s.w2, s.w3, BACK);
  for (int i = threadIdx.x; i < 16 * LINE; i += THREADS) s.inputs[i] = 0.f;
  for (int i = threadIdx.x; i < (16 * FT - 8 * OT) * LINE; i += THREADS)
    s.faults[8 * OT * LINE + i] = 0.f;
  __syncthreads();
  Layer h1, h2, t1, t2;
  errors(s, in, network, warp, g, t, h1, h2, t1, t2);
  const int first = 16 * warp + g;
  store(s.before, h1, first, t), store(s.behind, t2, first, t);
  __syncthreads();

  float loss = 0.f;
  for (int w = 0; w < WARPS; ++w) loss += s.losses[w];
  // What is not a number must stay so: tensor cores lose it.
  const float rate = in.rate[network] + (loss - loss), correction = in.correction[network];
  if (threadIdx.x == 0) in.loss[network] = loss;
  auto descend = [&](int array, size_t at, float gradient) {
    Parameter p = {in.params[array][at], in.mean[array][at], in.square[array][at]};
    adam(p, gradient, rate, correction);
    in.new_params[array][at] = p.value;
    in.new_mean[array][at] = p.mean, in.new_square[array][at] = p.square;
  };
  constexpr int GOES = NT / OWN;
  for (int job = warp; job < MT * GOES + NT; job += WARPS) {
    if (job >= MT * GOES) {
      Tile sum;
      over_rows(sum, [](int, int) { return 1.f; }, s.behind, job - MT * GOES, g, t);
      if (g == 0)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          descend(3, network * H + 8 * (job - MT * GOES) + 2 * t + c, sum[c]);
      continue;
    }
    const int tile_row = job % MT, tile = job / MT * OWN;
    Parameter p[OWN][4];
    Tile gradient[OWN] = {};
    auto each = [&](auto use) {
#pragma unroll
      for (int e = 0; e < OWN; ++e)
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int i = 16 * tile_row + g + 8 * (c >> 1), j = 8 * (tile + e) + 2 * t + (c & 1);
          use(p[e][c], gradient[e][c], (network * H + i) * H + j);
        }
    };
    // Asked for before they are needed, to wait less.
    each([&](Parameter& p, float, size_t at) {
      p = {in.params[2][at], in.mean[2][at], in.square[2][at]};
    });
#pragma unroll 4
    for (int k = 0; k < KS; ++k) {
      const float* a = s.before + (8 * k + t) * STRIDE + 16 * tile_row + g;
#pragma unroll
      for (int e = 0; e < OWN; ++e) {
        const float* b = s.behind + (8 * k + t) * STRIDE + 8 * (tile + e) + g;
        multiply(gradient[e], a[0], a[8], a[4 * STRIDE], a[4 * STRIDE + 8], b[0], b[4 * STRIDE]);
      }
    }
    each([&](Parameter& p, float gradient, size_t at) {
      adam(p, gradient, rate, correction);
      in.new_params[2][at] = p.value, in.new_mean[2][at] = p.mean, in.new_square[2][at] = p.square;
    });
  }
  __syncthreads();
  store(s.before, h2, first, t), store(s.behind, t1, first, t);
  __syncthreads();

  for (int job = warp; job < NT * (1 + FT) + 1; job += WARPS) {
    const int tile = job % NT, lines = job / NT - 1;  // lines: of 16 outputs; -1: of the inputs
    Tile sum;
    if (job == NT * (1 + FT)) {
      for (int o = lane; o < O; o += 32) {
        float total = 0.f;
        for (int row = 0; row < ROWS; ++row) total += s.faults[o * LINE + row];
        descend(5, network * O + o, total);
      }
    } else if (lines < 0) {
      auto inputs = [&](int line, int row) { return s.inputs[line * LINE + row]; };
      over_rows(sum, inputs, s.behind, tile, g, t);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int line = g + 8 * (c >> 1), unit = 8 * tile + 2 * t + (c & 1);
        if (line < D) descend(0, (network * D + line) * H + unit, sum[c]);
        if (line == D) descend(1, network * H + unit, sum[c]);
      }
    } else {
      const float* first_line = s.faults + 16 * lines * LINE;
      auto faults = [&](int line, int row) { return first_line[line * LINE + row]; };
      over_rows(sum, faults, s.before, tile, g, t);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int o = 16 * lines + g + 8 * (c >> 1), unit = 8 * tile + 2 * t + (c & 1);
        if (o < O) descend(4, (network * H + unit) * O + o, sum[c]);
      }
    }
  }
}

// Arguments and results come in the order of the fields of `Fit`.
static ffi::Error fit(cudaStream_t stream, int32_t each, ffi::RemainingArgs args,
                      ffi::RemainingRets rets) {
  Fit in{};
  Buffers all{args, rets};
  for (auto* arrays : {in.params, in.mean, in.square})
    for (int i = 0; i < 6; ++i) arrays[i] = all.in();
  const int networks = count_of(all.shape_of_next());
  in.rate = all.in(), in.correction = all.in(), in.questions = all.in(), in.action = all.in<int>();
  in.truth = all.in(), in.ended = all.in(), in.move = all.in(), in.rest = all.in();
  for (auto* arrays : {in.new_params, in.new_mean, in.new_square})
    for (int i = 0; i < 6; ++i) arrays[i] = all.out();
  in.loss = all.out(), in.each = each;
  if (all.missing) return ffi::Error::InvalidArgument("fit: too few buffers");
  cudaFuncSetAttribute(fit_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  fit_kernel<<<networks, THREADS, sizeof(Shared), stream>>>(in);
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_fit, fit,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Attr<int32_t>("each")
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
