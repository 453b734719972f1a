// Enough of CUDA to run a kernel of one warp an agent on a CPU: a thread for each lane, one agent
// after the other. Its shuffle makes all lanes wait for each other, which on a GPU orders no memory: a
// __syncwarp() that is missing beside one is not noticed here.
#pragma once
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(lanes)

using std::min;
struct alignas(16) float4 {
  float x, y, z, w;
};
struct Index {
  unsigned x;
};
static thread_local Index threadIdx, blockIdx;
static std::barrier<> all_lanes(32);
static float shown[32];

static inline void __syncwarp() { all_lanes.arrive_and_wait(); }

static inline float __shfl_xor_sync(unsigned, float mine, int apart) {
  shown[threadIdx.x] = mine;
  __syncwarp();
  const float theirs = shown[threadIdx.x ^ apart];
  __syncwarp();
  return theirs;
}

static inline float __fdividef(float a, float b) { return a / b; }

template <typename Kernel>
void launch(int agents, Kernel kernel) {
  for (unsigned agent = 0; agent < static_cast<unsigned>(agents); ++agent) {
    std::vector<std::thread> lanes;
    for (unsigned lane = 0; lane < 32; ++lane)
      lanes.emplace_back([=] {
        threadIdx.x = lane, blockIdx.x = agent;
        kernel();
      });
    for (auto& lane : lanes) lane.join();
  }
}
