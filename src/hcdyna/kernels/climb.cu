// All k steps of a climb on max_a Q(s, a), one warp an agent (search_control/climbing.py is the
// reference). A lane owns H/32 units of each hidden layer; the state is the same in every lane.
// Further macros: NORMALISE 0 or 1, and PAIRS, how many (cos, sin) pairs lead the state.
#include "common.cuh"

constexpr int U = H / 32;         // units per lane
constexpr int STRIDE = H + 1;     // keeps both a row and a column of W2 free of bank conflicts

struct Climb {
  const float *w1, *b1, *w2, *b2, *w3, *b3;  // [N, D, H] [N, H] [N, H, H] [N, H] [N, H, A] [N, A]
  const float *noise, *start, *covariance;   // [N, K, D] [N, D] [N, D, D]
  const float *step_size, *threshold;        // [N]
  const float *low, *high;                   // [N, D]
  float* states;                             // [N, K, D]
  bool* accepted;                            // [N, K]
  int steps, most;                           // most: stop accepting after this many
};

struct Shared {
  alignas(16) float layer[H];
  alignas(16) float back[H];
  float w2[H * STRIDE];
};

// The product of a layer in shared memory with H weights.
template <typename Weight>
__device__ inline float dot(const float* layer, Weight weight) {
  float sum[4] = {};
#pragma unroll
  for (int i = 0; i < H; i += 4) {
    const float4 v = *reinterpret_cast<const float4*>(layer + i);
    sum[0] += v.x * weight(i), sum[1] += v.y * weight(i + 1);
    sum[2] += v.z * weight(i + 2), sum[3] += v.w * weight(i + 3);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// 1 / sqrt(x) of a normal number.
__device__ inline float inverse_root(float x) {
  float found;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(found) : "f"(x));
  return found;
}

// Pi: into the box, then each leading pair back to the unit circle; (0, 0) becomes angle 0.
__device__ inline void project(float (&x)[D], const float (&low)[D], const float (&high)[D]) {
#pragma unroll
  for (int m = 0; m < D; ++m) x[m] = fminf(fmaxf(x[m], low[m]), high[m]);
#pragma unroll
  for (int p = 0; p < PAIRS; ++p) {
    float c = x[2 * p], s = x[2 * p + 1];
    float larger = fmaxf(fabsf(c), fabsf(s));
    c = larger > 0.f ? c / larger : 1.f;
    s = larger > 0.f ? s / larger : 0.f;
    float length = sqrtf(c * c + s * s);
    x[2 * p] = c / length;
    x[2 * p + 1] = s / length;
  }
}

__global__ void __launch_bounds__(32) climb_kernel(Climb in) {
  __shared__ Shared mine;
  const int lane = threadIdx.x, agent = blockIdx.x;

  for (int i = lane; i < H * H; i += 32)
    mine.w2[(i / H) * STRIDE + i % H] = in.w2[(size_t)agent * H * H + i];
  float w1[U][D], b1[U], b2[U], w3[U][A], b3[A], x[D], last[D], low[D], high[D];
  float covariance[D][D];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const int unit = lane + 32 * u;
    b1[u] = in.b1[agent * H + unit];
    b2[u] = in.b2[agent * H + unit];
    for (int m = 0; m < D; ++m) w1[u][m] = in.w1[(agent * D + m) * H + unit];
    for (int a = 0; a < A; ++a) w3[u][a] = in.w3[(agent * H + unit) * A + a];
  }
#pragma unroll
  for (int a = 0; a < A; ++a) b3[a] = in.b3[agent * A + a];
#pragma unroll
  for (int m = 0; m < D; ++m) {
    x[m] = in.start[agent * D + m];
    low[m] = in.low[agent * D + m];
    high[m] = in.high[agent * D + m];
    last[m] = INFINITY;
    for (int i = 0; i < D; ++i) covariance[m][i] = in.covariance[(agent * D + m) * D + i];
  }
  const float step_size = in.step_size[agent], threshold = in.threshold[agent];
  const float far = threshold * threshold * D;  // as a sum of squares
  const float* noise = in.noise + (size_t)agent * in.steps * D;
  float* states = in.states + (size_t)agent * in.steps * D;
  bool* accepted = in.accepted + (size_t)agent * in.steps;
  int count = 0;
  __syncwarp();
#if HIDDEN == 32
  // One row and one column of W2 fit into registers.
  float column[H], row[H];
#pragma unroll
  for (int i = 0; i < H; ++i) {
    column[i] = mine.w2[i * STRIDE + lane];
    row[i] = mine.w2[lane * STRIDE + i];
  }
#endif

  float soon[D];  // the noise of the next step, read one step ahead
#pragma unroll
  for (int m = 0; m < D; ++m) soon[m] = in.steps > 0 ? noise[m] : 0.f;
  for (int k = 0; k < in.steps; ++k) {
    float drawn[D];
#pragma unroll
    for (int m = 0; m < D; ++m) {
      drawn[m] = soon[m];
      soon[m] = noise[min(k + 1, in.steps - 1) * D + m];
    }
    float h1[U], h2[U], g1[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      float z = 0.f;
#pragma unroll
      for (int m = 0; m < D; ++m) z += x[m] * w1[u][m];
      h1[u] = squash(z + b1[u]);
      mine.layer[lane + 32 * u] = h1[u];
    }
    __syncwarp();
#pragma unroll
    for (int u = 0; u < U; ++u) {
#if HIDDEN == 32
      const float z = dot(mine.layer, [&](int i) { return column[i]; });
#else
      const float z = dot(mine.layer, [&](int i) { return mine.w2[i * STRIDE + lane + 32 * u]; });
#endif
      h2[u] = squash(z + b2[u]);
    }
    float q[A], top = -INFINITY, share = 0.f;
#pragma unroll
    for (int a = 0; a < A; ++a) {
      float part = 0.f;
#pragma unroll
      for (int u = 0; u < U; ++u) part += h2[u] * w3[u][a];
      q[a] = sum_over_warp(part) + b3[a];
      top = fmaxf(top, q[a]);
    }
    // Best actions share the gradient evenly, as in JAX; without biases all are alike at s = 0.
#pragma unroll
    for (int a = 0; a < A; ++a) share += q[a] == top ? 1.f : 0.f;
    share = share > 1.f ? __fdividef(1.f, share) : 1.f;
#pragma unroll
    for (int u = 0; u < U; ++u) {
      float weight = 0.f;
#pragma unroll
      for (int a = 0; a < A; ++a) weight += q[a] == top ? w3[u][a] : 0.f;
      mine.back[lane + 32 * u] = share * weight * slope(h2[u]);
    }
    __syncwarp();
#pragma unroll
    for (int u = 0; u < U; ++u) {
#if HIDDEN == 32
      const float g = dot(mine.back, [&](int j) { return row[j]; });
#else
      const float g = dot(mine.back, [&](int j) { return mine.w2[(lane + 32 * u) * STRIDE + j]; });
#endif
      g1[u] = g * slope(h1[u]);
    }
    float gradient[D], direction[D], squares = 0.f;
#pragma unroll
    for (int m = 0; m < D; ++m) {
      float part = 0.f;
#pragma unroll
      for (int u = 0; u < U; ++u) part += w1[u][m] * g1[u];
      gradient[m] = sum_over_warp(part);
    }
#pragma unroll
    for (int m = 0; m < D; ++m) {
      float sum = 0.f;
#pragma unroll
      for (int i = 0; i < D; ++i) sum += covariance[m][i] * gradient[i];
      direction[m] = sum;
      squares += sum * sum;
    }
    const bool usable = squares < INFINITY && squares > 1e-16f;  // a length of 1e-8
    const float scale = NORMALISE ? step_size * inverse_root(squares) : step_size;
    float apart = 0.f;
#pragma unroll
    for (int m = 0; m < D; ++m) x[m] = x[m] + (usable ? scale * direction[m] : 0.f) + drawn[m];
    project(x, low, high);
#pragma unroll
    for (int m = 0; m < D; ++m) apart += (last[m] - x[m]) * (last[m] - x[m]);
    const bool accept = apart >= far && count < in.most;
    count += accept;
    float own = x[0];
#pragma unroll
    for (int m = 0; m < D; ++m) {
      last[m] = accept ? x[m] : last[m];
      own = lane == m ? x[m] : own;
    }
    if (lane < D) states[lane] = own;
    if (lane == 0) *accepted = accept;
    states += D, accepted += 1;
  }
}

static ffi::Error climb(cudaStream_t stream, int32_t most, ffi::RemainingArgs args,
                        ffi::RemainingRets rets) {
  const void* in[13];
  for (int i = 0; i < 13; ++i) {
    auto buffer = args.get<ffi::AnyBuffer>(i);
    if (buffer.has_error()) return buffer.error();
    in[i] = buffer->untyped_data();
  }
  auto states = rets.get<ffi::AnyBuffer>(0);
  auto accepted = rets.get<ffi::AnyBuffer>(1);
  if (states.has_error()) return states.error();
  if (accepted.has_error()) return accepted.error();
  auto shape = (*accepted)->dimensions();
  int steps = shape[shape.size() - 1], agents = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) agents *= shape[i];
  auto f = [&](int i) { return static_cast<const float*>(in[i]); };
  Climb arguments{f(0), f(1), f(2),  f(3),  f(4),  f(5),
                  f(6), f(7), f(8),  f(9),  f(10), f(11), f(12),
                  static_cast<float*>((*states)->untyped_data()),
                  static_cast<bool*>((*accepted)->untyped_data()), steps, most};
  climb_kernel<<<agents, 32, 0, stream>>>(arguments);
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_climb, climb,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Attr<int32_t>("most")
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
