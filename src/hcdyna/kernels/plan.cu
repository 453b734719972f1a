// The n planning updates of a time step, one block an agent (planning.plan with agents/dqn.py is
// the reference). A warp takes 16 rows of the mini-batch through both networks and back; then each
// thread has the gradient of some parameters, and keeps these and Adam's moments in registers.
// Further macros: the SIMULATED and REPLAYED rows of each mini-batch, and FALLBACK 0 or 1: whether
// a simulated row may give way to a replayed one, of which there are then as many as rows.
#include <cuda_pipeline.h>
#include "adam.cuh"
#include "buffers.cuh"
#include "network.cuh"

constexpr int M = SIMULATED, B = M + REPLAYED, R = FALLBACK ? B : REPLAYED;
constexpr int GREEDY = -1, USE_FALLBACK = -2;  // choices that are not actions
constexpr int TILES = (B + 15) / 16, ROWS = 16 * TILES, KS = ROWS / 8;
constexpr int MT = H / 16;                     // tiles of 16 rows of W2
constexpr int GROUPS = TILES <= 2 * MT ? 2 : 4;
constexpr int WARPS = MT * GROUPS, THREADS = 32 * WARPS;
static_assert(TILES <= WARPS, "at most 16 rows a warp");
// The next mini-batch is fetched by the warps that have no rows of their own.
constexpr int IDLE = TILES < WARPS ? THREADS - 32 * TILES : THREADS;
constexpr int OWN = NT / GROUPS;               // tiles of W2 per warp: all in one row of tiles
constexpr int LT = (LINES + 15) / 16;          // tiles of 16 lines
constexpr int HALVES = (LINES + 7) / 8;        // halves of these with lines in them
constexpr int OWN_LINES = (NT + WARPS - 1) / WARPS;

struct Plan {
  const float *params[6], *target[6], *mean[6], *square[6];
  const float *power1, *power2;  // [agents]
  const int* updates;            // [agents]
  const float* learning_rate;    // [agents]
  const int* count;              // [agents]: how many of the N mini-batches to learn from
  const float *obs, *reward, *discount, *next_obs;  // [agents, N, R, …]
  const int* action;                                // [agents, N, R]
  const float *states, *rewards, *discounts, *next_states;  // [agents, N, M, (A, (D))]
  const int* choice;                                        // [agents, N, M]
  float *new_params[6], *new_target[6], *new_mean[6], *new_square[6];
  float *new_power1, *new_power2;
  int* new_updates;
  float *loss, *mean_q;
  int most, target_period;  // most: N
};

constexpr int room(int words) { return (words + 3) / 4 * 4 + (words == 0 ? 4 : 0); }

struct alignas(16) Batch {
  float obs[room(R * D)], next_obs[room(R * D)], reward[room(R)], discount[room(R)];
  int action[room(R)];
  float states[room(M * D)], rewards[room(M * A)], discounts[room(M * A)];
  float next_states[room(M * A * D)];
  int choice[room(M)];
};

struct Shared {
  Net net, target;
  alignas(16) float w2[H * STRIDE];  // as in the paper's order, for the way back
  alignas(16) float h1[ROWS * STRIDE];
  alignas(16) float h2[ROWS * STRIDE];
  alignas(16) float t1[ROWS * STRIDE];  // errors of the first layer's input …
  alignas(16) float t2[ROWS * STRIDE];  // … and of the second's
  float left[16 * LT * (ROWS + 4)];     // what the errors are multiplied with, by line
  float losses[WARPS], totals[WARPS];
  Batch batch[2];
};

// Where a parameter lies among the six arrays of global memory.
struct Place {
  int array;
  size_t offset;
};

__device__ inline Place place_w2(size_t agent, int i, int j) {
  return {2, (agent * H + i) * H + j};
}

__device__ inline Place place_line(size_t agent, int line, int unit) {
  if (line < D) return {0, (agent * D + line) * H + unit};
  if (line == D) return {1, agent * H + unit};
  if (line == D + 1) return {3, agent * H + unit};
  return {4, (agent * H + unit) * A + line - D - 2};
}

template <typename T>
__device__ inline T& at(T* const (&arrays)[6], Place place) {
  T* array = arrays[0];
#pragma unroll
  for (int i = 1; i < 6; ++i) array = place.array == i ? arrays[i] : array;
  return array[place.offset];
}

// Words of mini-batch `batch` into shared memory, 16 bytes at a time where they are aligned.
template <int EACH, typename T>
__device__ inline void fetch(T* to, const T* from, size_t batch, int thread) {
  constexpr int WORDS = EACH % 4 == 0 ? 4 : 1;
  from += batch * EACH;
#pragma unroll
  for (int first = 0; first < EACH; first += WORDS * IDLE) {
    const int i = first + WORDS * thread;
    if (i < EACH) __pipeline_memcpy_async(to + i, from + i, 4 * WORDS);
  }
}

__device__ inline void fetch_batch(Batch& to, const Plan& in, size_t batch) {
  const int thread = int(threadIdx.x) - (THREADS - IDLE);
  if (thread < 0) return;
  fetch<R * D>(to.obs, in.obs, batch, thread);
  fetch<R * D>(to.next_obs, in.next_obs, batch, thread);
  fetch<R>(to.reward, in.reward, batch, thread);
  fetch<R>(to.discount, in.discount, batch, thread);
  fetch<R>(to.action, in.action, batch, thread);
  fetch<M * D>(to.states, in.states, batch, thread);
  fetch<M * A>(to.rewards, in.rewards, batch, thread);
  fetch<M * A>(to.discounts, in.discounts, batch, thread);
  fetch<M * A * D>(to.next_states, in.next_states, batch, thread);
  fetch<M>(to.choice, in.choice, batch, thread);
}

// 16 rows of a mini-batch forward and back: leaves activations and errors in shared memory.
__device__ inline void errors(Shared& s, const Batch& batch, int warp, int g, int t) {
  const int first = 16 * warp + g;
  bool simulated[2];
  int choice[2], from[2];  // from: the row among replayed ones
  float x[2][D], next[2][D], q[2][A], next_q[2][A], delta[2], squares = 0.f, total = 0.f;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + 8 * r;
    choice[r] = row < M ? batch.choice[row] : USE_FALLBACK;
    simulated[r] = choice[r] != USE_FALLBACK;
    from[r] = FALLBACK ? row : row - M;
#pragma unroll
    for (int m = 0; m < D; ++m)
      x[r][m] = row >= B ? 0.f : simulated[r] ? batch.states[row * D + m] : batch.obs[from[r] * D + m];
  }
  Layer h1, h2;
  // In float32 always: TF32 would let nearly tied greedy actions and units near 0 fall the other
  // way, and most of its error would come from here.
  forward<true>(s.net, x, h1, h2, q, g, t);
  int action[2];
  float reward[2], discount[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + 8 * r;
    int best = 0;
    float top = q[r][0];
#pragma unroll
    for (int a = 1; a < A; ++a)
      if (q[r][a] > top) top = q[r][a], best = a;
    reward[r] = discount[r] = 0.f, action[r] = 0;
#pragma unroll
    for (int m = 0; m < D; ++m) next[r][m] = 0.f;
    if (simulated[r]) {
      action[r] = choice[r] == GREEDY ? best : choice[r];
      const int outcome = row * A + action[r];
      reward[r] = batch.rewards[outcome], discount[r] = batch.discounts[outcome];
#pragma unroll
      for (int m = 0; m < D; ++m) next[r][m] = batch.next_states[outcome * D + m];
    } else if (row < B) {
      action[r] = batch.action[from[r]];
      reward[r] = batch.reward[from[r]], discount[r] = batch.discount[from[r]];
#pragma unroll
      for (int m = 0; m < D; ++m) next[r][m] = batch.next_obs[from[r] * D + m];
    }
  }
  store(s.h1, h1, first, t);
  store(s.h2, h2, first, t);
  Layer t1, t2;
  forward(s.target, next, t1, t2, next_q, g, t);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = next_q[r][0], chosen = 0.f;  // a sum, lest the compiler make it a table in memory
#pragma unroll
    for (int a = 0; a < A; ++a) {
      top = fmaxf(top, next_q[r][a]);
      chosen += action[r] == a ? q[r][a] : 0.f;
    }
    const bool real = first + 8 * r < B;
    const float error = real ? chosen - (reward[r] + discount[r] * top) : 0.f;
    delta[r] = 2.f / B * error;
    squares += error * error;
#pragma unroll
    for (int a = 0; a < A; ++a) total += real ? q[r][a] : 0.f;
  }
  squares = sum_over_warp(squares), total = sum_over_warp(total);
  if (g == 0 && t == 0) s.losses[warp] = squares / (4 * B), s.totals[warp] = total / (4 * B * A);
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float2 w = pair(s.net.lines, D + 2 + action[r], j, t);
      t2[j][2 * r] = delta[r] * w.x * slope(h2[j][2 * r]);
      t2[j][2 * r + 1] = delta[r] * w.y * slope(h2[j][2 * r + 1]);
    }
#pragma unroll
  for (int j = 0; j < NT; ++j) t1[j][0] = t1[j][1] = t1[j][2] = t1[j][3] = 0.f;
  multiply_layer(t1, t2, s.w2, g, t);
#pragma unroll
  for (int j = 0; j < NT; ++j)
#pragma unroll
    for (int c = 0; c < 4; ++c) t1[j][c] *= slope(h1[j][c]);
  store(s.t1, t1, first, t);
  store(s.t2, t2, first, t);
#pragma unroll
  for (int line = 0; line < LINES; ++line)
    if ((line & 3) == t)
#pragma unroll
      for (int r = 0; r < 2; ++r)
        s.left[line * (ROWS + 4) + first + 8 * r] =
            line < D ? x[r][line < D ? line : 0]
                     : line < D + 2 ? 1.f : action[r] == line - D - 2 ? delta[r] : 0.f;
}

// Columns of a layer in shared memory as the right side of a product over the rows of the batch.
__device__ inline void column(float (&b)[KS][2], const float* layer, int tile, int g, int t) {
#pragma unroll
  for (int k = 0; k < KS; ++k) {
    b[k][0] = layer[(8 * k + t) * STRIDE + 8 * tile + g];
    b[k][1] = layer[(8 * k + t + 4) * STRIDE + 8 * tile + g];
  }
}

__global__ void __launch_bounds__(THREADS) plan_kernel(Plan in) {
  static_assert(sizeof(Shared) <= SHARED_MEMORY, "too many rows or units");
  extern __shared__ float4 raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
  const size_t agent = blockIdx.x;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int tile_row = warp % MT, group = warp / MT;
  const int count = min(in.count[agent], in.most);
  const size_t first_batch = agent * in.most;
  if (count > 0) fetch_batch(s.batch[0], in, first_batch);
  __pipeline_commit();

  Parameter w2[OWN][4], lines[OWN_LINES][HALVES][2], b3[HALVES];
  float target_w2[OWN][4], target_lines[OWN_LINES][HALVES][2], target_b3[HALVES];
  auto each_w2 = [&](auto use) {
#pragma unroll
    for (int e = 0; e < OWN; ++e)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int i = 16 * tile_row + g + 8 * (c >> 1), j = 8 * (group + e * GROUPS) + 2 * t + (c & 1);
        use(w2[e][c], target_w2[e][c], place_w2(agent, i, j), j * STRIDE + i, i * STRIDE + j);
      }
  };
  auto each_line = [&](auto use) {
#pragma unroll
    for (int e = 0; e < OWN_LINES; ++e)
#pragma unroll
      for (int h = 0; h < HALVES; ++h)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int line = 8 * h + g, tile = warp + e * WARPS, unit = 8 * tile + 2 * t + c;
          if (line < LINES && tile < NT)
            use(lines[e][h][c], target_lines[e][h][c], place_line(agent, line, unit), line * H + unit);
        }
  };
  auto each_b3 = [&](auto use) {
#pragma unroll
    for (int h = 0; h < HALVES; ++h) {
      const int a = 8 * h + g - D - 2;
      if (warp == WARPS - 1 && t == 0 && a >= 0 && a < A)
        use(b3[h], target_b3[h], Place{5, agent * A + a}, a);
    }
  };
  // All reads of global memory before the first write to shared memory, to wait only once.
  auto load = [&](Parameter& p, float& target, Place place, auto...) {
    p = {at(in.params, place), at(in.mean, place), at(in.square, place)};
    target = at(in.target, place);
  };
  each_w2(load), each_line(load), each_b3(load);
  auto share = [&](bool copy) {
    each_w2([&](const Parameter& p, float& target, Place, int slot, int mirror) {
      s.net.w2[slot] = s.w2[mirror] = p.value;
      if (copy) s.target.w2[slot] = target;
    });
    each_line([&](const Parameter& p, float& target, Place, int slot) {
      s.net.lines[slot] = p.value;
      if (copy) s.target.lines[slot] = target;
    });
    each_b3([&](const Parameter& p, float& target, Place, int slot) {
      s.net.b3[slot] = p.value;
      if (copy) s.target.b3[slot] = target;
    });
  };
  share(true);
  for (int i = threadIdx.x; i < 16 * LT * (ROWS + 4); i += THREADS) s.left[i] = 0.f;
  float power1 = in.power1[agent], power2 = in.power2[agent];
  int updates = in.updates[agent];
  const float learning_rate = in.learning_rate[agent];

  for (int n = 0; n < count; ++n) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (n + 1 < count) fetch_batch(s.batch[(n + 1) & 1], in, first_batch + n + 1);
    __pipeline_commit();
    if (warp < TILES) errors(s, s.batch[n & 1], warp, g, t);
    __syncthreads();

    power1 *= BETA1, power2 *= BETA2, updates += 1;
    const float rate = learning_rate / (1.f - power1), correction = 1.f / (1.f - power2);
    const bool copy = updates % in.target_period == 0;
    {
      float a[KS][4];  // rows of h1 transposed
#pragma unroll
      for (int k = 0; k < KS; ++k)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          a[k][c] = s.h1[(8 * k + t + 4 * (c >> 1)) * STRIDE + 16 * tile_row + g + 8 * (c & 1)];
#pragma unroll
      for (int e = 0; e < OWN; ++e) {
        float b[KS][2];
        Tile gradient = {};
        column(b, s.t2, group + e * GROUPS, g, t);
#pragma unroll
        for (int k = 0; k < KS; ++k)
          multiply(gradient, a[k][0], a[k][1], a[k][2], a[k][3], b[k][0], b[k][1]);
#pragma unroll
        for (int c = 0; c < 4; ++c) adam(w2[e][c], gradient[c], rate, correction);
      }
    }
    Tile b3_gradients[LT] = {};
#pragma unroll
    for (int h = 0; h < LT; ++h) {
      float a[KS][4];
#pragma unroll
      for (int k = 0; k < KS; ++k)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          a[k][c] = s.left[(16 * h + g + 8 * (c & 1)) * (ROWS + 4) + 8 * k + t + 4 * (c >> 1)];
#pragma unroll
      for (int e = 0; e < OWN_LINES; ++e) {
        if (warp + e * WARPS >= NT) continue;
        // Lines up to D go with t1, line D + 1 with t2, and those after it with h2.
        Tile found[3] = {};
#pragma unroll
        for (int part = 0; part < 3; ++part) {
          float b[KS][2];
          column(b, part == 0 ? s.t1 : part == 1 ? s.t2 : s.h2, warp + e * WARPS, g, t);
#pragma unroll
          for (int k = 0; k < KS; ++k)
            multiply(found[part], a[k][0], a[k][1], a[k][2], a[k][3], b[k][0], b[k][1]);
        }
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (2 * h + c / 2 >= HALVES) continue;
          const int line = 16 * h + 8 * (c / 2) + g;
          const float gradient = line <= D ? found[0][c] : line == D + 1 ? found[1][c] : found[2][c];
          adam(lines[e][2 * h + c / 2][c % 2], gradient, rate, correction);
        }
      }
      if (warp == WARPS - 1)
#pragma unroll
        for (int k = 0; k < KS; ++k)
          multiply(b3_gradients[h], a[k][0], a[k][1], a[k][2], a[k][3], 1.f, 1.f);
    }
#pragma unroll
    for (int h = 0; h < HALVES; ++h) adam(b3[h], b3_gradients[h / 2][2 * (h % 2)], rate, correction);

    if (copy) {
      auto renew = [](const Parameter& p, float& target, auto...) { target = p.value; };
      each_w2(renew), each_line(renew), each_b3(renew);
    }
    share(copy);
  }

  auto save = [&](const Parameter& p, float& target, Place place, auto...) {
    at(in.new_params, place) = p.value, at(in.new_target, place) = target;
    at(in.new_mean, place) = p.mean, at(in.new_square, place) = p.square;
  };
  each_w2(save), each_line(save), each_b3(save);
  if (threadIdx.x == 0) {
    float loss = 0.f, total = 0.f;
    for (int w = 0; w < TILES && count > 0; ++w) loss += s.losses[w], total += s.totals[w];
    in.loss[agent] = loss, in.mean_q[agent] = total;
    in.new_power1[agent] = power1, in.new_power2[agent] = power2;
    in.new_updates[agent] = updates;
  }
}

// Arguments and results come in the order of the fields of `Plan`.
static ffi::Error plan(cudaStream_t stream, int32_t target_period, ffi::RemainingArgs args,
                       ffi::RemainingRets rets) {
  Plan plan{};
  Buffers all{args, rets};
  for (auto* arrays : {plan.params, plan.target, plan.mean, plan.square})
    for (int i = 0; i < 6; ++i) arrays[i] = all.in();
  const int agents = count_of(all.shape_of_next());
  plan.power1 = all.in(), plan.power2 = all.in(), plan.updates = all.in<int>();
  plan.learning_rate = all.in(), plan.count = all.in<int>(), plan.obs = all.in();
  const auto batches = all.shape_of_next();
  plan.reward = all.in(), plan.discount = all.in(), plan.next_obs = all.in();
  plan.action = all.in<int>();
  if (M > 0) {
    plan.states = all.in(), plan.rewards = all.in(), plan.discounts = all.in();
    plan.next_states = all.in(), plan.choice = all.in<int>();
  }
  for (auto* arrays : {plan.new_params, plan.new_target, plan.new_mean, plan.new_square})
    for (int i = 0; i < 6; ++i) arrays[i] = all.out();
  plan.new_power1 = all.out(), plan.new_power2 = all.out(), plan.new_updates = all.out<int>();
  plan.loss = all.out(), plan.mean_q = all.out();
  if (all.missing) return ffi::Error::InvalidArgument("plan: too few buffers");
  plan.most = batches[batches.size() - 2];
  plan.target_period = target_period;
  cudaFuncSetAttribute(plan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  plan_kernel<<<agents, THREADS, sizeof(Shared), stream>>>(plan);
  return launched();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hcdyna_plan, plan,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Attr<int32_t>("target_period")
                                  .RemainingArgs()
                                  .RemainingRets(),
                              {ffi::Traits::kCmdBufferCompatible});
