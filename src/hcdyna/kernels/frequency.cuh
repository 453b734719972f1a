// The gradient of ‖∇V‖² + ‖∇²V‖², V = max_a Q, at a state whose activations are known. Derivatives of
// both layers go forwards, since a unit of the first one has simple ones: f⁽ᵏ⁾(z) w ⊗ … ⊗ w.
#pragma once
#include "warp.cuh"

constexpr int TWO = D * (D + 1) / 2;  // pairs of variables m ≤ n

struct Bent {
  alignas(16) float first[D][H];
  alignas(16) float second[TWO][H];
};

__device__ inline constexpr int pair(int m, int n) {
  const int low = m < n ? m : n, high = m < n ? n : m;
  return low * D - low * (low - 1) / 2 + high - low;
}

// The second and third derivatives of y = squash(z), from y.
__device__ inline float bend(float y) { return TANH ? -2.f * y * (1.f - y * y) : 0.f; }
__device__ inline float twist(float y) {
  return TANH ? (1.f - y * y) * (6.f * y * y - 2.f) : 0.f;
}

__device__ inline void gradient_of_frequency(const Net& net, Bent& bent, const float (&h1)[U],
                                             const float (&h2)[U], const float (&weight)[U],
                                             float (&found)[D]) {
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const int unit = net.lane + 32 * u;
#pragma unroll
    for (int m = 0; m < D; ++m) {
      bent.first[m][unit] = slope(h1[u]) * net.w1[u][m];
#pragma unroll
      for (int n = m; n < D; ++n)
        bent.second[pair(m, n)][unit] = bend(h1[u]) * net.w1[u][m] * net.w1[u][n];
    }
  }
  __syncwarp();
  // Derivatives of what the second layer is given, …
  float first[U][D], second[U][TWO];
#pragma unroll
  for (int u = 0; u < U; ++u) {
#pragma unroll
    for (int m = 0; m < D; ++m) first[u][m] = net.forwards(bent.first[m], u);
#pragma unroll
    for (int p = 0; p < TWO; ++p) second[u][p] = net.forwards(bent.second[p], u);
  }
  // … and of V.
  float gradient[D], hessian[TWO];
#pragma unroll
  for (int m = 0; m < D; ++m) {
    float part = 0.f;
#pragma unroll
    for (int u = 0; u < U; ++u) part += weight[u] * slope(h2[u]) * first[u][m];
    gradient[m] = sum_over_warp(part);
#pragma unroll
    for (int n = m; n < D; ++n) {
      part = 0.f;
#pragma unroll
      for (int u = 0; u < U; ++u)
        part += weight[u] * (bend(h2[u]) * first[u][m] * first[u][n] +
                             slope(h2[u]) * second[u][pair(m, n)]);
      hessian[pair(m, n)] = sum_over_warp(part);
    }
  }
  // The third derivatives are only needed as products with the second ones.
  __syncwarp();
#pragma unroll
  for (int u = 0; u < U; ++u) {
    float product = 0.f;
#pragma unroll
    for (int m = 0; m < D; ++m)
#pragma unroll
      for (int n = 0; n < D; ++n)
        product += hessian[pair(m, n)] * net.w1[u][m] * net.w1[u][n];
#pragma unroll
    for (int k = 0; k < D; ++k)
      bent.first[k][net.lane + 32 * u] = twist(h1[u]) * product * net.w1[u][k];
  }
  __syncwarp();
  float part[D] = {};
#pragma unroll
  for (int u = 0; u < U; ++u) {
    float along[D], across = 0.f, curved = 0.f;  // ∇²V z′, z′ᵀ ∇²V z′, and ∇²V : z″
#pragma unroll
    for (int m = 0; m < D; ++m) {
      along[m] = 0.f;
#pragma unroll
      for (int n = 0; n < D; ++n) {
        along[m] += hessian[pair(m, n)] * first[u][n];
        curved += hessian[pair(m, n)] * second[u][pair(m, n)];
      }
      across += along[m] * first[u][m];
    }
#pragma unroll
    for (int k = 0; k < D; ++k) {
      float turned = 0.f;
#pragma unroll
      for (int m = 0; m < D; ++m) turned += second[u][pair(m, k)] * along[m];
      part[k] += weight[u] * (twist(h2[u]) * across * first[u][k] +
                              bend(h2[u]) * (curved * first[u][k] + 2.f * turned) +
                              slope(h2[u]) * net.forwards(bent.first[k], u));
    }
  }
#pragma unroll
  for (int k = 0; k < D; ++k) {
    float sum = 0.f;
#pragma unroll
    for (int m = 0; m < D; ++m) sum += gradient[m] * hessian[pair(m, k)];
    found[k] = 2.f * (sum + sum_over_warp(part[k]));
  }
}
