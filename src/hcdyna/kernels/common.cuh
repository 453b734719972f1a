// What all kernels share. Sizes are macros, given when the sources are compiled:
//   STATE variables, HIDDEN units in each of two layers, TANH 0 (ReLU) or 1, and mostly ACTIONS.
#pragma once
#include <cuda_runtime.h>
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

constexpr int D = STATE, H = HIDDEN;
constexpr unsigned ALL = 0xffffffffu;

__device__ inline float squash(float z) {
  return TANH ? tanhf(z) : (z <= 0.f ? 0.f : z);  // what is not a number stays so
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

// Bytes of shared memory that a block may have. Where a kernel needs more it does not compile, and
// the plain program runs.
#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
constexpr size_t SHARED_MEMORY = 227 * 1024;
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
constexpr size_t SHARED_MEMORY = 163 * 1024;
#elif __CUDA_ARCH__ == 750
constexpr size_t SHARED_MEMORY = 64 * 1024;
#else
constexpr size_t SHARED_MEMORY = 96 * 1024;
#endif

inline ffi::Error launched() {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return ffi::Error::Success();
  return ffi::Error::Internal(cudaGetErrorString(status));
}
