// Enough of CUDA to run a kernel on a CPU: a thread for each of a block's, one block after the
// other. Shuffles and products of tensor cores make all lanes of a warp wait for each other, which
// on a GPU orders no memory: a __syncwarp() that is missing beside one is not noticed here.
#pragma once
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)

using cudaStream_t = void*;
using cudaError_t = int;
constexpr int cudaSuccess = 0, cudaFuncAttributeMaxDynamicSharedMemorySize = 0;
static inline int cudaGetLastError() { return cudaSuccess; }
static inline const char* cudaGetErrorString(int) { return ""; }
template <typename Kernel>
void cudaFuncSetAttribute(Kernel, int, size_t) {}

using std::min;
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct Index {
  unsigned x;
};
static thread_local Index threadIdx, blockIdx;
static Index blockDim;
static float4 dynamic_shared_memory[227 * 1024 / 16];

// What the lanes of a warp tell each other.
struct Warp {
  std::barrier<> all_lanes{32};
  float shown[32];
  unsigned left[32][4], right[32][2];
};
static std::vector<std::unique_ptr<Warp>> warps;
static std::unique_ptr<std::barrier<>> all_threads;

static inline Warp& own_warp() { return *warps[threadIdx.x / 32]; }
static inline void __syncwarp() { own_warp().all_lanes.arrive_and_wait(); }
static inline void __syncthreads() { all_threads->arrive_and_wait(); }

static inline float __shfl_xor_sync(unsigned, float mine, int apart) {
  own_warp().shown[threadIdx.x % 32] = mine;
  __syncwarp();
  const float theirs = own_warp().shown[(threadIdx.x % 32) ^ apart];
  __syncwarp();
  return theirs;
}

static inline float __fdividef(float a, float b) { return a / b; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline unsigned __float_as_uint(float x) { return reinterpret_cast<unsigned&>(x); }
static inline float __uint_as_float(unsigned x) { return reinterpret_cast<float&>(x); }

// c [16, 8] += a [16, 8] b [8, 8] of TF32 (mma.sync.m16n8k8): lane 4g + t has a (g, t), (g + 8, t),
// (g, t + 4), (g + 8, t + 4), b (t, g), (t + 4, g), and c (g, 2t), (g, 2t + 1), (g + 8, 2t), …
static inline void tensor_cores(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  Warp& warp = own_warp();
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  std::copy(a, a + 4, warp.left[lane]), std::copy(b, b + 2, warp.right[lane]);
  __syncwarp();
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned row = g, column = 2 * t + i % 2;
      const float x = __uint_as_float(warp.left[4 * row + k % 4][i / 2 + 2 * (k / 4)] & ~0x1fffu);
      const float y = __uint_as_float(warp.right[4 * column + k % 4][k / 4] & ~0x1fffu);
      c[i] += x * y;
    }
  __syncwarp();
}

static inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
static inline void __pipeline_commit() {}
static inline void __pipeline_wait_prior(int) {}

template <typename Kernel>
void launch(unsigned blocks, unsigned threads, Kernel kernel) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  blockDim.x = threads;
  for (unsigned block = 0; block < blocks; ++block) {
    all_threads = std::make_unique<std::barrier<>>(threads);
    warps.clear();
    for (auto& four : dynamic_shared_memory) four = {NAN, NAN, NAN, NAN};  // nobody has written yet
    for (unsigned warp = 0; warp < threads / 32; ++warp) warps.push_back(std::make_unique<Warp>());
    std::vector<std::thread> running;
    for (unsigned thread = 0; thread < threads; ++thread)
      running.emplace_back([=] {
        threadIdx.x = thread, blockIdx.x = block;
        kernel();
      });
    for (auto& thread : running) thread.join();
  }
}
