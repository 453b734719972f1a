// Q at one state of every agent, and the gradient of the largest: one warp an agent.
#include "warp.cuh"

__global__ void __launch_bounds__(32) look_kernel(Params params, const float* states, float* all_q,
                                                  float* gradients) {
  __shared__ Shared mine;
  const int lane = threadIdx.x, agent = blockIdx.x;
  const Net net(mine, params, agent, lane);
  float x[D], h1[U], h2[U], q[A], weight[U], gradient[D];
#pragma unroll
  for (int m = 0; m < D; ++m) x[m] = states[agent * D + m];
  net.forward(x, h1, h2, q, weight);
  net.gradient(h1, h2, weight, gradient);
  if (lane == 0) {
#pragma unroll
    for (int a = 0; a < A; ++a) all_q[agent * A + a] = q[a];
#pragma unroll
    for (int m = 0; m < D; ++m) gradients[agent * D + m] = gradient[m];
  }
}

static ffi::Error look(cudaStream_t stream, ffi::RemainingArgs args, ffi::RemainingRets rets) {
  Buffers all{args, rets};
  const Params params = params_of(all);
  const int agents = count_of(all.shape_of_next()) / D;
  const float* states = all.in();
  float *q = all.out(), *gradients = all.out();
  if (all.missing) return ffi::Error::InvalidArgument("look: too few buffers");
  look_kernel<<<agents, 32, 0, stream>>>(params, states, q, gradients);
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_look, look,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
