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
  const float* in[7];
  for (int i = 0; i < 7; ++i) {
    auto buffer = args.get<ffi::AnyBuffer>(i);
    if (buffer.has_error()) return buffer.error();
    in[i] = static_cast<const float*>(buffer->untyped_data());
  }
  auto q = rets.get<ffi::AnyBuffer>(0);
  auto gradients = rets.get<ffi::AnyBuffer>(1);
  if (q.has_error()) return q.error();
  if (gradients.has_error()) return gradients.error();
  const int agents = (*q)->element_count() / A;
  const Params params{in[0], in[1], in[2], in[3], in[4], in[5]};
  look_kernel<<<agents, 32, 0, stream>>>(params, in[6],
                                         static_cast<float*>((*q)->untyped_data()),
                                         static_cast<float*>((*gradients)->untyped_data()));
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_look, look,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
