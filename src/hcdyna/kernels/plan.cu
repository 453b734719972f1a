// The n planning updates of a time step, one block an agent (dyna.plan with agents/dqn.py is the
// reference). Parameters live in shared memory, Adam's moments in registers.
// Further macros: UPDATES, and the REPLAYED and SIMULATED rows of each mini-batch.
#include "common.cuh"

constexpr int N = UPDATES, R = REPLAYED, M = SIMULATED, B = R + M;
constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int W1 = 0, B1 = W1 + D * H, W2 = B1 + H, B2 = W2 + H * H, W3 = B2 + H, B3 = W3 + H * A;
constexpr int PARAMS = B3 + A;
// In shared memory rows of W2 have one more column, which keeps reads along rows and along
// columns free of bank conflicts; what follows is shifted.
constexpr int PAD = H, ROW = H + 1;
constexpr int EACH = (PARAMS + THREADS - 1) / THREADS;  // parameters per thread
constexpr int STRIDE = H + 4;  // rows stay aligned for float4, and apart in the banks
constexpr float BETA1 = 0.9f, BETA2 = 0.999f, EPSILON = 1e-8f;

struct Plan {
  const float *params[6], *target[6], *mean[6], *square[6];
  const float *power1, *power2;      // [agents]
  const int* updates;                // [agents]
  const float* learning_rate;        // [agents]
  const float *obs, *reward, *discount, *next_obs;  // [agents, N, R, …]
  const int* action;                                // [agents, N, R]
  const float *states, *rewards, *discounts, *next_states;  // [agents, N, M, (A, (D))]
  const bool* explore;                                      // [agents, N, M]
  const int* random_action;                                 // [agents, N, M]
  float *new_params[6], *new_target[6], *new_mean[6], *new_square[6];
  float *new_power1, *new_power2;
  int* new_updates;
  float *loss, *mean_q;
  int target_period;
};

struct Shared {
  float params[PARAMS + PAD], target[PARAMS + PAD];
  float obs[B * D], next_obs[B * D], q[B * A], next_q[B * A], delta[B];
  alignas(16) float h1[B * STRIDE];  // read as float4, as the next three are
  alignas(16) float h2[B * STRIDE];
  alignas(16) float t1[B * STRIDE];
  alignas(16) float t2[B * STRIDE];
  float reward[B], discount[B], error[B];
  int action[B];
};

// Where a parameter lies: which of the six arrays, and where in it.
template <typename T>
__device__ inline T* place(T* const (&arrays)[6], size_t agent, int p) {
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    constexpr int sizes[6] = {D * H, H, H * H, H, H * A, A};
    if (p < sizes[i]) return arrays[i] + agent * sizes[i] + p;
    p -= sizes[i];
  }
  return nullptr;
}

// Where parameter p lies in shared memory.
__device__ inline int slot(int p) {
  return p < W2 ? p : p < B2 ? W2 + (p - W2) / H * ROW + (p - W2) % H : p + PAD;
}

// y [B, H] = squash(x [B, D] W + b)
__device__ inline void first_layer(const float* theta, const float* x, float* y) {
  for (int i = threadIdx.x; i < B * H; i += THREADS) {
    const int row = i / H, unit = i % H;
    float z = 0.f;
#pragma unroll
    for (int m = 0; m < D; ++m) z += x[row * D + m] * theta[W1 + m * H + unit];
    y[row * STRIDE + unit] = squash(z + theta[B1 + unit]);
  }
}

// y [B, H] = squash(x [B, H] W + b): a warp takes four rows at a time, a lane one unit of each.
__device__ inline void second_layer(const float* theta, const float* x, float* y) {
  constexpr int ROWS = 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int first = warp * ROWS; first < B; first += WARPS * ROWS) {
    for (int unit = lane; unit < H; unit += 32) {
      float z[ROWS] = {};
#pragma unroll 4
      for (int i = 0; i < H; i += 4) {
        float w[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) w[c] = theta[W2 + (i + c) * ROW + unit];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
          const int row = min(first + r, B - 1);
          const float4 v = *reinterpret_cast<const float4*>(x + row * STRIDE + i);
          z[r] += v.x * w[0] + v.y * w[1] + v.z * w[2] + v.w * w[3];
        }
      }
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        if (first + r < B) y[(first + r) * STRIDE + unit] = squash(z[r] + theta[B2 + PAD + unit]);
    }
  }
}

// q [B, A] = x [B, H] W + b
__device__ inline void output_layer(const float* theta, const float* x, float* q) {
  for (int i = threadIdx.x; i < B * A; i += THREADS) {
    const int row = i / A, a = i % A;
    float z = 0.f;
#pragma unroll 8
    for (int j = 0; j < H; ++j) z += x[row * STRIDE + j] * theta[W3 + PAD + j * A + a];
    q[i] = z + theta[B3 + PAD + a];
  }
}

// d error / d parameter p, from what the passes left in shared memory: h1 and h2 are activations,
// t1 and t2 the errors of the layers' inputs, delta that of Q(s, a).
__device__ inline float gradient(const Shared& s, int p) {
  float sum = 0.f;
  if (p < B1) {
    const int m = p / H, unit = p % H;
    for (int b = 0; b < B; ++b) sum += s.obs[b * D + m] * s.t1[b * STRIDE + unit];
  } else if (p < W2) {
    const int unit = p - B1;
    for (int b = 0; b < B; ++b) sum += s.t1[b * STRIDE + unit];
  } else if (p < B2) {
    const int i = (p - W2) / H, unit = (p - W2) % H;
#pragma unroll 8
    for (int b = 0; b < B; ++b) sum += s.h1[b * STRIDE + i] * s.t2[b * STRIDE + unit];
  } else if (p < W3) {
    const int unit = p - B2;
    for (int b = 0; b < B; ++b) sum += s.t2[b * STRIDE + unit];
  } else if (p < B3) {
    const int j = (p - W3) / A, a = (p - W3) % A;
    for (int b = 0; b < B; ++b) sum += s.action[b] == a ? s.h2[b * STRIDE + j] * s.delta[b] : 0.f;
  } else {
    for (int b = 0; b < B; ++b) sum += s.action[b] == p - B3 ? s.delta[b] : 0.f;
  }
  return sum;
}

__global__ void __launch_bounds__(THREADS) plan_kernel(Plan in) {
  extern __shared__ float4 raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
  const size_t agent = blockIdx.x;
  const int tid = threadIdx.x;
  float mean[EACH], square[EACH];
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    const int p = tid + e * THREADS;
    if (p < PARAMS) {
      s.params[slot(p)] = *place(in.params, agent, p);
      s.target[slot(p)] = *place(in.target, agent, p);
      mean[e] = *place(in.mean, agent, p);
      square[e] = *place(in.square, agent, p);
    }
  }
  float power1 = in.power1[agent], power2 = in.power2[agent];
  int updates = in.updates[agent];
  const float learning_rate = in.learning_rate[agent];

  for (int n = 0; n < N; ++n) {
    const size_t replayed = (agent * N + n) * R, simulated = (agent * N + n) * M;
    // Simulated rows first, then replayed ones, as in dyna.complete.
    for (int i = tid; i < M * D; i += THREADS) s.obs[i] = in.states[simulated * D + i];
    for (int i = tid; i < R * D; i += THREADS) {
      s.obs[M * D + i] = in.obs[replayed * D + i];
      s.next_obs[M * D + i] = in.next_obs[replayed * D + i];
    }
    for (int i = tid; i < R; i += THREADS) {
      s.action[M + i] = in.action[replayed + i];
      s.reward[M + i] = in.reward[replayed + i];
      s.discount[M + i] = in.discount[replayed + i];
    }
    __syncthreads();
    first_layer(s.params, s.obs, s.h1);
    __syncthreads();
    second_layer(s.params, s.h1, s.h2);
    __syncthreads();
    output_layer(s.params, s.h2, s.q);
    __syncthreads();
    if (tid < M) {
      int action = 0;
#pragma unroll
      for (int a = 1; a < A; ++a)
        if (s.q[tid * A + a] > s.q[tid * A + action]) action = a;
      const size_t row = simulated + tid;
      if (in.explore[row]) action = in.random_action[row];
      s.action[tid] = action;
      s.reward[tid] = in.rewards[row * A + action];
      s.discount[tid] = in.discounts[row * A + action];
#pragma unroll
      for (int m = 0; m < D; ++m)
        s.next_obs[tid * D + m] = in.next_states[(row * A + action) * D + m];
    }
    __syncthreads();
    first_layer(s.target, s.next_obs, s.t1);
    __syncthreads();
    second_layer(s.target, s.t1, s.t2);
    __syncthreads();
    output_layer(s.target, s.t2, s.next_q);
    __syncthreads();
    if (tid < B) {
      float top = -INFINITY, total = 0.f;
#pragma unroll
      for (int a = 0; a < A; ++a) {
        top = fmaxf(top, s.next_q[tid * A + a]);
        total += s.q[tid * A + a];
      }
      const float error = s.q[tid * A + s.action[tid]] - (s.reward[tid] + s.discount[tid] * top);
      s.delta[tid] = 2.f / B * error;
      s.error[tid] = error * error;
      s.discount[tid] = total;  // no longer needed for anything else
    }
    __syncthreads();
    if (n == N - 1 && tid == 0) {
      float loss = 0.f, total = 0.f;
      for (int b = 0; b < B; ++b) loss += s.error[b], total += s.discount[b];
      in.loss[agent] = loss / B;
      in.mean_q[agent] = total / (B * A);
    }
    // Errors of the second layer's input, then of the first one's.
    for (int i = tid; i < B * H; i += THREADS) {
      const int b = i / H, j = i % H;
      const float w = s.params[W3 + PAD + j * A + s.action[b]];
      s.t2[b * STRIDE + j] = s.delta[b] * w * slope(s.h2[b * STRIDE + j]);
    }
    __syncthreads();
    {
      constexpr int ROWS = 4;
      const int lane = tid & 31, warp = tid >> 5;
      for (int first = warp * ROWS; first < B; first += WARPS * ROWS)
        for (int unit = lane; unit < H; unit += 32) {
          float g[ROWS] = {};
#pragma unroll 4
          for (int j = 0; j < H; j += 4) {
            float w[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) w[c] = s.params[W2 + unit * ROW + j + c];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
              const int row = min(first + r, B - 1);
              const float4 v = *reinterpret_cast<const float4*>(s.t2 + row * STRIDE + j);
              g[r] += v.x * w[0] + v.y * w[1] + v.z * w[2] + v.w * w[3];
            }
          }
#pragma unroll
          for (int r = 0; r < ROWS; ++r)
            if (first + r < B) {
              const int at = (first + r) * STRIDE + unit;
              s.t1[at] = g[r] * slope(s.h1[at]);
            }
        }
    }
    __syncthreads();
    power1 *= BETA1;
    power2 *= BETA2;
    const float rate = learning_rate / (1.f - power1), correction = 1.f / (1.f - power2);
    updates += 1;
    const bool copy = updates % in.target_period == 0;
    float fresh[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      const int p = tid + e * THREADS;
      if (p < PARAMS) {
        const float g = gradient(s, p);
        mean[e] = BETA1 * mean[e] + (1.f - BETA1) * g;
        square[e] = BETA2 * square[e] + (1.f - BETA2) * g * g;
        fresh[e] = s.params[slot(p)] - rate * mean[e] / (sqrtf(correction * square[e]) + EPSILON);
      }
    }
    // A gradient reads no parameter but those of this thread's own, so they may change at once.
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      const int p = tid + e * THREADS;
      if (p < PARAMS) {
        s.params[slot(p)] = fresh[e];
        if (copy) s.target[slot(p)] = fresh[e];
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    const int p = tid + e * THREADS;
    if (p < PARAMS) {
      *place(in.new_params, agent, p) = s.params[slot(p)];
      *place(in.new_target, agent, p) = s.target[slot(p)];
      *place(in.new_mean, agent, p) = mean[e];
      *place(in.new_square, agent, p) = square[e];
    }
  }
  if (tid == 0) {
    in.new_power1[agent] = power1;
    in.new_power2[agent] = power2;
    in.new_updates[agent] = updates;
  }
}

// Arguments and results come in the order of the fields of `Plan`.
static ffi::Error plan(cudaStream_t stream, int32_t target_period, ffi::RemainingArgs args,
                       ffi::RemainingRets rets) {
  Plan plan{};
  size_t given = 0, taken = 0;
  bool missing = false;
  auto input = [&]() -> void* {
    auto buffer = args.get<ffi::AnyBuffer>(given++);
    if (buffer.has_error()) return missing = true, nullptr;
    return buffer->untyped_data();
  };
  auto output = [&]() -> void* {
    auto buffer = rets.get<ffi::AnyBuffer>(taken++);
    if (buffer.has_error()) return missing = true, nullptr;
    return (*buffer)->untyped_data();
  };
  auto real = [&] { return static_cast<const float*>(input()); };
  auto whole = [&] { return static_cast<const int*>(input()); };
  auto fresh = [&] { return static_cast<float*>(output()); };
  for (auto* arrays : {plan.params, plan.target, plan.mean, plan.square})
    for (int i = 0; i < 6; ++i) arrays[i] = real();
  plan.power1 = real(), plan.power2 = real(), plan.updates = whole(), plan.learning_rate = real();
  plan.obs = real(), plan.reward = real(), plan.discount = real(), plan.next_obs = real();
  plan.action = whole();
  if (M > 0) {
    plan.states = real(), plan.rewards = real(), plan.discounts = real();
    plan.next_states = real();
    plan.explore = static_cast<const bool*>(input());
    plan.random_action = whole();
  }
  auto agents_of = args.get<ffi::AnyBuffer>(24);
  if (agents_of.has_error()) return agents_of.error();
  const int agents = agents_of->element_count();
  for (auto* arrays : {plan.new_params, plan.new_target, plan.new_mean, plan.new_square})
    for (int i = 0; i < 6; ++i) arrays[i] = fresh();
  plan.new_power1 = fresh(), plan.new_power2 = fresh();
  plan.new_updates = static_cast<int*>(output());
  plan.loss = fresh(), plan.mean_q = fresh();
  plan.target_period = target_period;
  if (missing) return ffi::Error::InvalidArgument("plan: too few buffers");
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
