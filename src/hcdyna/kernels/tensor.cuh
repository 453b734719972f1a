// Products of layers on tensor cores, for 16 rows of a mini-batch a warp.
//
// A product of tensor cores (m16n8k8) leaves lane 4g + t with columns 2t and 2t + 1 of rows g and
// g + 8. The next product wants columns t and t + 4 of those rows; since a sum may be taken in any
// order, columns 2t and 2t + 1 stand for them, so that layers follow each other in registers.
// Further macro: PRECISE 0 (TF32) or 1 (each product in three, which gives float32 again).
#pragma once
#include "common.cuh"

constexpr int NT = H / 8;               // tiles of 8 columns in a hidden layer
constexpr int STRIDE = H + 8;           // keeps all reads below free of bank conflicts

using Tile = float[4];         // (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
using Layer = float[NT][4];    // 16 rows of H units

// Rounded to the nearest TF32; tensor cores do not look at the last 13 bits.
__device__ inline unsigned tf32(float x) { return __float_as_uint(x) + 0x1000u; }

__device__ inline void multiply_once(Tile& c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// c [16, 8] += a [16, 8] b [8, 8]
template <bool precise = PRECISE>
__device__ inline void multiply(Tile& c, float a0, float a1, float a2, float a3, float b0,
                                float b1) {
  const float a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
  unsigned high_a[4], high_b[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) high_a[i] = tf32(a[i]);
#pragma unroll
  for (int i = 0; i < 2; ++i) high_b[i] = tf32(b[i]);
  if constexpr (precise) {
    unsigned low_a[4], low_b[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) low_a[i] = tf32(a[i] - __uint_as_float(high_a[i] & ~0x1fffu));
#pragma unroll
    for (int i = 0; i < 2; ++i) low_b[i] = tf32(b[i] - __uint_as_float(high_b[i] & ~0x1fffu));
    multiply_once(c, low_a, high_b);
    multiply_once(c, high_a, low_b);
  }
  multiply_once(c, high_a, high_b);
}

// y [16, 8 TO] += x [16, 8 FROM] W, where W is read with its columns as rows of `w`.
template <bool precise = PRECISE, int stride = STRIDE, int TO, int FROM>
__device__ inline void multiply_layer(float (&y)[TO][4], const float (&x)[FROM][4], const float* w,
                                      int g, int t) {
#pragma unroll
  for (int s = 0; s < FROM; ++s)
#pragma unroll
    for (int j = 0; j < TO; ++j) {
      const float2 b = *reinterpret_cast<const float2*>(w + (8 * j + g) * stride + 8 * s + 2 * t);
      multiply<precise>(y[j], x[s][0], x[s][2], x[s][1], x[s][3], b.x, b.y);
    }
}

// Rows `row` and `row` + 8 of this lane into shared memory.
__device__ inline void store(float* to, const Layer& layer, int row, int t) {
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int r = 0; r < 2; ++r)
      *reinterpret_cast<float2*>(to + (row + 8 * r) * STRIDE + 8 * j + 2 * t) =
          make_float2(layer[j][2 * r], layer[j][2 * r + 1]);
}

// 0, unless a row is not finite: rounding to TF32 makes numbers of what is none, and a diverged
// agent would look sound.
__device__ inline float sound(const float (&row)[D]) {
  float found = 0.f;
#pragma unroll
  for (int m = 0; m < D; ++m) found += row[m] - row[m];
  return found;
}

// Two numbers of a line of H of these, which lie one after the other.
__device__ inline float2 pair(const float* lines, int line, int tile, int t) {
  return *reinterpret_cast<const float2*>(lines + line * H + 8 * tile + 2 * t);
}

// Activations of both hidden layers for this lane's two rows x [2, D]. Lines: W1, b1 and b2; `w2`
// is W2 transposed.
template <bool precise = PRECISE>
__device__ inline void hidden_layers(const float* lines, const float* w2, const float (&x)[2][D],
                                     Layer& h1, Layer& h2, int g, int t) {
#pragma unroll
  for (int j = 0; j < NT; ++j) {
    const float2 b1 = pair(lines, D, j, t), b2 = pair(lines, D + 1, j, t);
    float z[4] = {b1.x, b1.y, b1.x, b1.y};
#pragma unroll
    for (int m = 0; m < D; ++m) {
      const float2 w = pair(lines, m, j, t);
      z[0] += x[0][m] * w.x, z[1] += x[0][m] * w.y;
      z[2] += x[1][m] * w.x, z[3] += x[1][m] * w.y;
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) h1[j][c] = squash(z[c]);
    h2[j][0] = h2[j][2] = b2.x, h2[j][1] = h2[j][3] = b2.y;
  }
  multiply_layer<precise>(h2, h1, w2, g, t);
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int c = 0; c < 4; ++c) h2[j][c] = squash(h2[j][c]);
}
