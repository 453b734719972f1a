// Vectors as wide as the processor's, by the extension that GCC and Clang share, and the product of
// matrices that stays in registers.
#pragma once

#if defined(__AVX512F__)
constexpr int LANES = 16, TILE = 8, ACROSS = 2;  // TILE rows of ACROSS vectors are kept at a time
#elif defined(__AVX__)
constexpr int LANES = 8, TILE = 4, ACROSS = 2;
#else
constexpr int LANES = 4, TILE = 4, ACROSS = 4;
#endif

#define INLINE inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))

template <int N>
struct Lanes {
  typedef float type __attribute__((vector_size(4 * N), aligned(4), may_alias));
};
template <int N>
using Vec = typename Lanes<N>::type;

template <int N>
INLINE Vec<N> load(const float* from) { return *reinterpret_cast<const Vec<N>*>(from); }
template <int N>
INLINE void store(float* to, Vec<N> v) { *reinterpret_cast<Vec<N>*>(to) = v; }

constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int largest_divisor(int n, int most) { return n % most == 0 ? most : largest_divisor(n, most - 1); }

// The sum of N lanes, by halves.
template <int N>
INLINE float sum(Vec<N> v) {
  if constexpr (N == 1) {
    return v[0];
  } else if constexpr (N == 16) {
    const Vec<8> low = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    const Vec<8> high = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    return sum<8>(low + high);
  } else if constexpr (N == 8) {
    const Vec<4> low = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    const Vec<4> high = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return sum<4>(low + high);
  } else {
    const Vec<4> pairs = v + __builtin_shufflevector(v, v, 2, 3, 0, 1);
    return pairs[0] + pairs[1];
  }
}

// The element (i, k) of a matrix is at i * row + k * column.
struct Matrix {
  const float* at;
  long row, column;
};

// ROWS rows, ACROSS_ vectors wide, of start + a b: b has `width` columns, and finish(i, j, c) gets
// lanes j … j + N − 1 of row i.
template <int N, int ACROSS_, int ROWS, typename Start, typename Finish>
INLINE void tile(int i, int j, int depth, Matrix a, const float* b, int width, Start start,
                 Finish finish) {
  Vec<N> c[ROWS][ACROSS_];
#pragma GCC unroll 16
  for (int v = 0; v < ACROSS_; ++v) {
    const Vec<N> first = start(j + v * N);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) c[r][v] = first;
  }
  const float* left = a.at + i * a.row;
  const float* right = b + j;
  for (int k = 0; k < depth; ++k, left += a.column, right += width) {
    Vec<N> across[ACROSS_];
#pragma GCC unroll 16
    for (int v = 0; v < ACROSS_; ++v) across[v] = load<N>(right + v * N);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      const float x = left[r * a.row];
#pragma GCC unroll 16
      for (int v = 0; v < ACROSS_; ++v) c[r][v] += x * across[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < ACROSS_; ++v) finish(i + r, j + v * N, c[r][v]);
}

// start + a [rows, depth] b [depth, WIDE]
template <int WIDE, typename Start, typename Finish>
INLINE void product(int rows, int depth, Matrix a, const float* b, Start start, Finish finish) {
  constexpr int N = smaller(WIDE, LANES), VECTORS = WIDE / N;
  constexpr int AT_ONCE = VECTORS % ACROSS == 0 ? ACROSS : 1;
  for (int j = 0; j < WIDE; j += AT_ONCE * N) {
    int i = 0;
    for (; i + TILE <= rows; i += TILE) tile<N, AT_ONCE, TILE>(i, j, depth, a, b, WIDE, start, finish);
    for (; i + 2 <= rows; i += 2) tile<N, AT_ONCE, 2>(i, j, depth, a, b, WIDE, start, finish);
    if (i < rows) tile<N, AT_ONCE, 1>(i, j, depth, a, b, WIDE, start, finish);
  }
}

// start + x [DEPTH] b [DEPTH, WIDE] of a single row, in several sums at once, since each has to wait
// for its last addition.
template <int DEPTH, int WIDE, typename Start, typename Finish>
INLINE void row_product(const float* x, const float* b, Start start, Finish finish) {
  constexpr int AT_ONCE = largest_divisor(WIDE / LANES, 8);
  constexpr int SUMS = DEPTH < 8 ? 1 : 8 / AT_ONCE >= 4 ? 4 : larger(1, 8 / AT_ONCE);
  for (int j = 0; j < WIDE; j += AT_ONCE * LANES) {
    Vec<LANES> c[SUMS][AT_ONCE];
#pragma GCC unroll 16
    for (int v = 0; v < AT_ONCE; ++v)
#pragma GCC unroll 16
      for (int s = 0; s < SUMS; ++s) c[s][v] = s == 0 ? start(j + v * LANES) : Vec<LANES>{};
    int k = 0;
    for (; k + SUMS <= DEPTH; k += SUMS)
#pragma GCC unroll 16
      for (int s = 0; s < SUMS; ++s)
#pragma GCC unroll 16
        for (int v = 0; v < AT_ONCE; ++v)
          c[s][v] += x[k + s] * load<LANES>(b + (k + s) * WIDE + j + v * LANES);
#pragma GCC unroll 16
    for (int s = 0; k + s < DEPTH; ++s)
#pragma GCC unroll 16
      for (int v = 0; v < AT_ONCE; ++v)
        c[s][v] += x[k + s] * load<LANES>(b + (k + s) * WIDE + j + v * LANES);
#pragma GCC unroll 16
    for (int s = SUMS / 2; s > 0; s /= 2)
#pragma GCC unroll 16
      for (int t = 0; t < s; ++t)
#pragma GCC unroll 16
        for (int v = 0; v < AT_ONCE; ++v) c[t][v] += c[t + s][v];
#pragma GCC unroll 16
    for (int v = 0; v < AT_ONCE; ++v) finish(j + v * LANES, c[0][v]);
  }
}

// to [columns, rows] from [rows, columns], where lines of `to` are `stride` apart
INLINE void transpose(const float* from, int rows, int columns, float* to, int stride) {
  int i = 0;
  for (; i + 4 <= rows && columns % 4 == 0; i += 4)
    for (int j = 0; j < columns; j += 4) {
      const float* at = from + i * columns + j;
      const Vec<4> a = load<4>(at), b = load<4>(at + columns);
      const Vec<4> c = load<4>(at + 2 * columns), d = load<4>(at + 3 * columns);
      const Vec<4> ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Vec<4> cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
      const Vec<4> ef = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Vec<4> gh = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      float* place = to + j * stride + i;
      store<4>(place, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
      store<4>(place + stride, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
      store<4>(place + 2 * stride, __builtin_shufflevector(ef, gh, 0, 1, 4, 5));
      store<4>(place + 3 * stride, __builtin_shufflevector(ef, gh, 2, 3, 6, 7));
    }
  for (; i < rows; ++i)
    for (int j = 0; j < columns; ++j) to[j * stride + i] = from[i * columns + j];
}
