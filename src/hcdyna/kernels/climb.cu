// All k steps of a climb on max_a Q(s, a), one warp an agent (search_control/climbing.py is the
// reference). Further macros: NORMALISE 0 or 1; PAIRS, how many (cos, sin) pairs lead the state; and
// FREQUENCY 1 for agents that may climb ‖∇V‖² + ‖∇²V‖² instead (search_control/frequency.py).
#include "frequency.cuh"

struct Climb {
  Params params;
  const float *noise, *start, *covariance;   // [N, K, D] [N, D] [N, D, D]
  const float *step_size, *threshold;        // [N]
  const float *low, *high;                   // [N, D]
  float* states;                             // [N, K, D]
  bool* accepted;                            // [N, K]
  int steps, most;                           // most: stop accepting after this many
  const bool* on_value;                      // [N], with FREQUENCY
};

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
#if FREQUENCY
  __shared__ Bent bent;
#endif
  const int lane = threadIdx.x, agent = blockIdx.x;
  const Net net(mine, in.params, agent, lane);
  float x[D], last[D], low[D], high[D], covariance[D][D];
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
    float h1[U], h2[U], q[A], weight[U], gradient[D], direction[D], squares = 0.f;
    net.forward(x, h1, h2, q, weight);
#if FREQUENCY
    if (!in.on_value[agent])
      gradient_of_frequency(net, bent, h1, h2, weight, gradient);
    else
#endif
      net.gradient(h1, h2, weight, gradient);
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
  Climb in{};
  Buffers all{args, rets};
  in.params = params_of(all);
  const auto shape = all.shape_of_next();
  in.noise = all.in(), in.start = all.in(), in.covariance = all.in();
  in.step_size = all.in(), in.threshold = all.in(), in.low = all.in(), in.high = all.in();
  if (FREQUENCY) in.on_value = all.in<bool>();
  in.states = all.out(), in.accepted = all.out<bool>();
  if (all.missing) return ffi::Error::InvalidArgument("climb: too few buffers");
  in.steps = shape[shape.size() - 2], in.most = most;
  const int agents = count_of(shape) / (in.steps * D);
  climb_kernel<<<agents, 32, 0, stream>>>(in);
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_climb, climb,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Attr<int32_t>("most")
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
