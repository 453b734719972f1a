// What both kernels share. Sizes are macros, given when the sources are compiled:
//   STATE variables, HIDDEN units in each of two layers, ACTIONS, TANH 0 (ReLU) or 1.
#pragma once
#include <cuda_runtime.h>
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

constexpr int D = STATE, H = HIDDEN, A = ACTIONS;
constexpr unsigned ALL = 0xffffffffu;

// The quick quotient, which XLA's GPU programs have everywhere.
__host__ __device__ inline float quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  float found;
  asm("div.full.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
  return found;
#else
  return a / b;
#endif
}

// tanh as XLA takes it on a GPU, so that a climb, which is chaotic at a maximum, does not part from
// the plain one over last bits: an odd polynomial over an even one, with Eigen's coefficients (they
// are in LLVM's mlir/lib/Dialect/Math/Transforms/PolynomialApproximation.cpp as well).
__host__ __device__ inline float rational_tanh(float z) {
  const float odd[7] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                        5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                        4.89352455891786e-03f};
  const float even[4] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                         4.89352518554385e-03f};
  const float x = fminf(fmaxf(z, -7.99881172f), 7.99881172f), square = x * x;
  float above = odd[0], below = even[0];
#pragma unroll
  for (int i = 1; i < 7; ++i) above = fmaf(above, square, odd[i]);
#pragma unroll
  for (int i = 1; i < 4; ++i) below = fmaf(below, square, even[i]);
  return fabsf(z) >= 4e-4f ? quotient(x * above, below) : z;  // NaN stays NaN
}

__device__ inline float squash(float z) {
  return TANH ? rational_tanh(z) : (z > 0.f ? z : 0.f);
}

// Its derivative, from the output y = squash(z): both need no more than that.
__device__ inline float slope(float y) {
  return TANH ? 1.f - y * y : (y > 0.f ? 1.f : 0.f);
}

__device__ inline float sum_over_warp(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(ALL, x, step);
  return x;
}

inline ffi::Error launched() {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return ffi::Error::Success();
  return ffi::Error::Internal(cudaGetErrorString(status));
}
