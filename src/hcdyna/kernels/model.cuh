// The network of a learned model on tensor cores, for 16 rows a warp (models/ensemble.py). Of STATE
// numbers it makes OUTPUTS (a macro, instead of ACTIONS).
#pragma once
#include "tensor.cuh"

constexpr int O = OUTPUTS, OT = (O + 7) / 8;  // tiles of 8 outputs
using Outputs = float[OT][4];                 // 16 rows of them

struct alignas(16) Net {
  float lines[(D + 2) * H];    // line m < D: W1[m]; D: b1; D + 1: b2
  float b3[8 * OT];
  float w2[H * STRIDE];        // transposed: unit of the second layer first
  float w3[8 * OT * STRIDE];   // transposed: output first
};

// Activations and outputs of this lane's two rows x [2, D].
__device__ inline void forward(const Net& net, const float (&x)[2][D], Layer& h1, Layer& h2,
                               Outputs& out, int g, int t) {
  // In float32 always: the targets of differences are small beside what they are sums of.
  hidden_layers<true>(net.lines, net.w2, x, h1, h2, g, t);
  // 0, unless a unit of a row is not finite; see `sound`.
  float off[2] = {sound(x[0]), sound(x[1])};
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int c = 0; c < 4; ++c) off[c / 2] += (h1[j][c] - h1[j][c]) + (h2[j][c] - h2[j][c]);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    off[r] += __shfl_xor_sync(ALL, off[r], 1);
    off[r] += __shfl_xor_sync(ALL, off[r], 2);
  }
#pragma unroll
  for (int j = 0; j < OT; ++j)
#pragma unroll
    for (int c = 0; c < 4; ++c) out[j][c] = net.b3[8 * j + 2 * t + c % 2] + off[c / 2];
  multiply_layer<true>(out, h2, net.w3, g, t);
}

// A weight; what is not a number as one that rounding to TF32 leaves as it is.
__device__ inline float kept(float w) { return w == w ? w : __uint_as_float(0x7fc00000u); }

// Of one network, from global memory, by all threads of a block; W2 and W3 also as they lie there,
// for the way back, if there is room for them.
__device__ inline void fetch(Net& net, const float* const (&from)[6], size_t network, float* w2,
                             float* w3, int stride) {
  const int thread = threadIdx.x, threads = blockDim.x;
  for (int i = thread; i < D * H; i += threads) net.lines[i] = from[0][network * D * H + i];
  for (int i = thread; i < H; i += threads) {
    net.lines[D * H + i] = from[1][network * H + i];
    net.lines[(D + 1) * H + i] = from[3][network * H + i];
  }
  // Neighbours take four rows of eight numbers, so that reads come in whole sectors and writes meet
  // few others in their bank of shared memory.
  for (int i = thread; i < H * H; i += threads) {
    const int block = i / 32, lane = i % 32;
    const int row = block / (H / 8) * 4 + lane / 8, column = block % (H / 8) * 8 + lane % 8;
    const float w = kept(from[2][network * H * H + row * H + column]);
    net.w2[column * STRIDE + row] = w;
    if (w2) w2[row * STRIDE + column] = w;
  }
  for (int i = thread; i < H * 8 * OT; i += threads) {
    const int row = i / (8 * OT), column = i % (8 * OT);
    const float w = column < O ? kept(from[4][network * H * O + row * O + column]) : 0.f;
    net.w3[column * STRIDE + row] = w;
    if (w3) w3[row * stride + column] = w;
  }
  for (int i = thread; i < 8 * OT; i += threads)
    net.b3[i] = i < O ? from[5][network * O + i] : 0.f;
}
