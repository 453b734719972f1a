// What a network that has learned the world answers to many questions (models/ensemble.py is the
// reference): a warp takes 16 of them, a block some of those of one network.
#define PRECISE 1
#include "buffers.cuh"
#include "model.cuh"

constexpr int MOST_WARPS = 8;

struct Answer {
  const float* params[6];
  const float* questions;  // [networks, rows, D]
  float* answers;          // [networks, rows, O]
  int rows;
};

__global__ void __launch_bounds__(32 * MOST_WARPS) answer_kernel(Answer in) {
  extern __shared__ float4 raw[];
  Net& net = *reinterpret_cast<Net*>(raw);
  const size_t network = blockIdx.x;
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  fetch(net, in.params, network, nullptr, nullptr, 0);
  __syncthreads();
  for (int first = threadIdx.x / 32 * 16; first < in.rows; first += blockDim.x / 32 * 16) {
    float x[2][D];
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int m = 0; m < D; ++m) {
        const int row = first + g + 8 * r;
        x[r][m] = row < in.rows ? in.questions[(network * in.rows + row) * D + m] : 0.f;
      }
    Layer h1, h2;
    Outputs out;
    forward(net, x, h1, h2, out, g, t);
#pragma unroll
    for (int j = 0; j < OT; ++j)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int row = first + g + 8 * (c >> 1), o = 8 * j + 2 * t + (c & 1);
        if (row < in.rows && o < O) in.answers[(network * in.rows + row) * O + o] = out[j][c];
      }
  }
}

static ffi::Error answer(cudaStream_t stream, ffi::RemainingArgs args, ffi::RemainingRets rets) {
  Answer in{};
  Buffers all{args, rets};
  for (int i = 0; i < 6; ++i) in.params[i] = all.in();
  const auto shape = all.shape_of_next();
  in.questions = all.in(), in.answers = all.out();
  if (all.missing) return ffi::Error::InvalidArgument("answer: too few buffers");
  in.rows = shape[shape.size() - 2];
  const int networks = count_of(shape) / (in.rows * D);
  const int warps = (in.rows + 15) / 16 < MOST_WARPS ? (in.rows + 15) / 16 : MOST_WARPS;
  cudaFuncSetAttribute(answer_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Net));
  answer_kernel<<<networks, 32 * warps, sizeof(Net), stream>>>(in);
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_answer, answer,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
