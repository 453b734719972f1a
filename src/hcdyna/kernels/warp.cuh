// The perceptron of one agent, held by one warp: a lane owns H/32 units of each hidden layer, and the
// state is the same in every lane.
#pragma once
#include "buffers.cuh"

constexpr int A = ACTIONS;
constexpr int U = H / 32;         // units per lane
constexpr int STRIDE = H + 1;     // keeps both a row and a column of W2 free of bank conflicts

struct Params {
  const float *w1, *b1, *w2, *b2, *w3, *b3;  // [N, D, H] [N, H] [N, H, H] [N, H] [N, H, A] [N, A]
};

inline Params params_of(Buffers& all) {
  return {all.in(), all.in(), all.in(), all.in(), all.in(), all.in()};  // in this order
}

struct Shared {
  alignas(16) float layer[H];
  alignas(16) float back[H];
  float w2[H * STRIDE];
};

// The product of a layer in shared memory with H weights.
template <typename Weight>
__device__ inline float dot(const float* layer, Weight weight) {
  float sum[4] = {};
#pragma unroll
  for (int i = 0; i < H; i += 4) {
    const float4 v = *reinterpret_cast<const float4*>(layer + i);
    sum[0] += v.x * weight(i), sum[1] += v.y * weight(i + 1);
    sum[2] += v.z * weight(i + 2), sum[3] += v.w * weight(i + 3);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

struct Net {
  Shared& mine;
  const int lane;
  float w1[U][D], b1[U], b2[U], w3[U][A], b3[A];
#if HIDDEN == 32
  float column[H], row[H];  // of W2: one of each fits into registers
#endif

  __device__ inline Net(Shared& shared, const Params& in, int agent, int thread)
      : mine(shared), lane(thread) {
    for (int i = lane; i < H * H; i += 32)
      mine.w2[(i / H) * STRIDE + i % H] = in.w2[(size_t)agent * H * H + i];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const int unit = lane + 32 * u;
      b1[u] = in.b1[agent * H + unit];
      b2[u] = in.b2[agent * H + unit];
      for (int m = 0; m < D; ++m) w1[u][m] = in.w1[(agent * D + m) * H + unit];
      for (int a = 0; a < A; ++a) w3[u][a] = in.w3[(agent * H + unit) * A + a];
    }
#pragma unroll
    for (int a = 0; a < A; ++a) b3[a] = in.b3[agent * A + a];
    __syncwarp();
#if HIDDEN == 32
#pragma unroll
    for (int i = 0; i < H; ++i) {
      column[i] = mine.w2[i * STRIDE + lane];
      row[i] = mine.w2[lane * STRIDE + i];
    }
#endif
  }

  // What a layer in shared memory sends forwards to unit u of this lane, …
  __device__ inline float forwards(const float* layer, int u) const {
#if HIDDEN == 32
    return dot(layer, [&](int i) { return column[i]; });
#else
    return dot(layer, [&](int i) { return mine.w2[i * STRIDE + lane + 32 * u]; });
#endif
  }

  // … and backwards.
  __device__ inline float backwards(const float* layer, int u) const {
#if HIDDEN == 32
    return dot(layer, [&](int j) { return row[j]; });
#else
    return dot(layer, [&](int j) { return mine.w2[(lane + 32 * u) * STRIDE + j]; });
#endif
  }

  // Activations of both layers, Q, and the weight of each unit in the largest Q.
  __device__ inline void forward(const float (&x)[D], float (&h1)[U], float (&h2)[U],
                                 float (&q)[A], float (&weight)[U]) const {
#pragma unroll
    for (int u = 0; u < U; ++u) {
      float z = 0.f;
#pragma unroll
      for (int m = 0; m < D; ++m) z += x[m] * w1[u][m];
      h1[u] = squash(z + b1[u]);
      mine.layer[lane + 32 * u] = h1[u];
    }
    __syncwarp();
#pragma unroll
    for (int u = 0; u < U; ++u) h2[u] = squash(forwards(mine.layer, u) + b2[u]);
    float top = -INFINITY, share = 0.f;
#pragma unroll
    for (int a = 0; a < A; ++a) {
      float part = 0.f;
#pragma unroll
      for (int u = 0; u < U; ++u) part += h2[u] * w3[u][a];
      q[a] = sum_over_warp(part) + b3[a];
      top = fmaxf(top, q[a]);
    }
    // Best actions share the gradient evenly, as in JAX; without biases all are alike at s = 0.
#pragma unroll
    for (int a = 0; a < A; ++a) share += q[a] == top ? 1.f : 0.f;
    share = share > 1.f ? __fdividef(1.f, share) : 1.f;
#pragma unroll
    for (int u = 0; u < U; ++u) {
      weight[u] = 0.f;
#pragma unroll
      for (int a = 0; a < A; ++a) weight[u] += q[a] == top ? w3[u][a] : 0.f;
      weight[u] *= share;
    }
  }

  // The gradient of the largest Q.
  __device__ inline void gradient(const float (&h1)[U], const float (&h2)[U],
                                  const float (&weight)[U], float (&found)[D]) const {
    float g1[U];
#pragma unroll
    for (int u = 0; u < U; ++u) mine.back[lane + 32 * u] = weight[u] * slope(h2[u]);
    __syncwarp();
#pragma unroll
    for (int u = 0; u < U; ++u) g1[u] = backwards(mine.back, u) * slope(h1[u]);
#pragma unroll
    for (int m = 0; m < D; ++m) {
      float part = 0.f;
#pragma unroll
      for (int u = 0; u < U; ++u) part += w1[u][m] * g1[u];
      found[m] = sum_over_warp(part);
    }
  }
};
