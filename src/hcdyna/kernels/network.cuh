// The perceptron on tensor cores, for 16 rows of a mini-batch a warp.
#pragma once
#include "tensor.cuh"

constexpr int A = ACTIONS;
constexpr int LINES = D + 2 + A;        // W1, b1, b2 and W3 transposed: one line of H each

struct alignas(16) Net {
  float lines[LINES * H];  // line m < D: W1[m]; D: b1; D + 1: b2; D + 2 + a: W3[:, a]
  float b3[(A + 3) / 4 * 4];
  float w2[H * STRIDE];    // transposed: unit of the second layer first
};

// Activations and Q [2, A] of this lane's two rows x [2, D]; all four lanes of a row get its Q.
template <bool precise = PRECISE>
__device__ inline void forward(const Net& net, const float (&x)[2][D], Layer& h1, Layer& h2,
                               float (&q)[2][A], int g, int t) {
  hidden_layers<precise>(net.lines, net.w2, x, h1, h2, g, t);
#pragma unroll
  for (int a = 0; a < A; ++a) {
    float sum[2] = {};
#pragma unroll
    for (int j = 0; j < NT; ++j) {
      const float2 w = pair(net.lines, D + 2 + a, j, t);
      sum[0] += h2[j][0] * w.x + h2[j][1] * w.y;
      sum[1] += h2[j][2] * w.x + h2[j][3] * w.y;
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(ALL, sum[r], 1);
      sum[r] += __shfl_xor_sync(ALL, sum[r], 2);
      q[r][a] = sum[r] + net.b3[a] + sound(x[r]);
    }
  }
}
