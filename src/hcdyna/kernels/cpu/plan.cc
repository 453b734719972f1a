// The n planning updates of a time step, one agent after the other (planning.plan with
// agents/dqn.py is the reference).
#include <initializer_list>
#include "call.h"
#include "network.h"

constexpr int D = INPUTS, A = OUTPUTS, WIDE = OUTPUTS_FULL;
constexpr int GREEDY = -1, USE_FALLBACK = -2;  // choices that are not actions

// The mini-batches of one agent, from the first one on.
struct Batches {
  const float *obs, *reward, *discount, *next_obs;  // [R, …]
  const int* action;
  const float *states, *rewards, *discounts, *next_states;  // [M, (A, (D))]
  const int* choice;
};

struct How {
  int simulated, replayed, rows;  // M, R and b
  bool fallback;                  // a simulated row may give way to the replayed one beside it
  bool double_q, huber;
};

struct Row {
  int action;
  float reward, discount;
};

struct alignas(64) Room {
  Network net, target;
  Parameters mean, square, gradient;
  Values values, next, errors;
  Row row[MOST_ROWS];
};

INLINE int best(const float* q) {
  int found = 0;
  for (int a = 1; a < A; ++a)
    if (q[a] > q[found]) found = a;
  return found;
}

INLINE void copy_state(float* to, const float* from) { std::memcpy(to, from, sizeof(float) * D); }

struct Seen {
  float loss, mean_q;
};

// The TD errors of a mini-batch, as errors of the outputs, and the gradient that follows.
static Seen learn(Room& room, const Batches& batch, const How& how) {
  const int rows = how.rows, whole = round_up(rows, TILE);
  float *obs = room.values.states(), *next = room.next.states();
  auto beside = [&](int r) { return how.fallback ? r : r - how.simulated; };
  auto simulated = [&](int r) { return r < how.simulated && batch.choice[r] != USE_FALLBACK; };
  for (int r = 0; r < rows; ++r)
    copy_state(obs + r * D, simulated(r) ? batch.states + r * D : batch.obs + beside(r) * D);
  std::memset(obs + rows * D, 0, sizeof(float) * (whole - rows) * D);
  std::memset(next + rows * D, 0, sizeof(float) * (whole - rows) * D);
  forward(room.net, room.values, whole);
  const float* q = room.values.outputs();
  for (int r = 0; r < rows; ++r) {
    Row& row = room.row[r];
    if (simulated(r)) {
      row.action = batch.choice[r] == GREEDY ? best(q + r * WIDE) : batch.choice[r];
      const int outcome = r * A + row.action;
      row.reward = batch.rewards[outcome], row.discount = batch.discounts[outcome];
      copy_state(next + r * D, batch.next_states + outcome * D);
    } else {
      row = {batch.action[beside(r)], batch.reward[beside(r)], batch.discount[beside(r)]};
      copy_state(next + r * D, batch.next_obs + beside(r) * D);
    }
  }
  int chosen[MOST_ROWS];
  if (how.double_q) {
    forward(room.net, room.next, whole);
    for (int r = 0; r < rows; ++r) chosen[r] = best(room.next.outputs() + r * WIDE);
  }
  forward(room.target, room.next, whole);
  const float* worth = room.next.outputs();
  float* errors = room.errors.outputs();
  std::memset(errors, 0, sizeof(float) * whole * WIDE);
  float loss = 0.f, total = 0.f;
  for (int r = 0; r < rows; ++r) {
    const Row& row = room.row[r];
    const float top = worth[r * WIDE + (how.double_q ? chosen[r] : best(worth + r * WIDE))];
    const float error = q[r * WIDE + row.action] - (row.reward + row.discount * top);
    const float size = fabsf(error);
    const bool linear = how.huber && size > 1.f;
    loss += linear ? size - 0.5f : (how.huber ? 0.5f : 1.f) * error * error;
    const float slope = linear ? copysignf(1.f, error) : (how.huber ? 1.f : 2.f) * error;
    errors[r * WIDE + row.action] = slope / rows;
    for (int a = 0; a < A; ++a) total += q[r * WIDE + a];
  }
  backward(room.net, room.values, room.errors, room.gradient, whole);
  return {loss / rows, total / (rows * A)};
}

// By what to multiply the gradient so that its length is at most `most`; 0: any length.
static float clipped(const Parameters& gradient, float most) {
  if (most <= 0.f) return 1.f;
  Vec<LANES> squares = {};
  for (int i = 0; i < PARAMETERS; i += LANES) {
    const Vec<LANES> g = load<LANES>(gradient.at + i);
    squares += g * g;
  }
  const float length = sqrtf(sum<LANES>(squares));
  return length > most ? most / length : 1.f;
}

// What a target becomes: a copy of the parameters, or nearer to them by a share of the difference.
static void follow(Parameters& target, const Parameters& own, float share) {
  if (share == 1.f) {
    target = own;
    return;
  }
  for (int i = 0; i < PARAMETERS; ++i) target.at[i] += share * (own.at[i] - target.at[i]);
}

// Arguments and results come in the order in which they are taken here.
static void plan(Call call) {
  static thread_local Room* own = nullptr;
  if (own == nullptr) own = new Room{};
  Room& room = *own;
  const float *params[2 * LAYERS], *target[2 * LAYERS], *mean[2 * LAYERS], *square[2 * LAYERS];
  float *new_params[2 * LAYERS], *new_target[2 * LAYERS], *new_mean[2 * LAYERS], *new_square[2 * LAYERS];
  for (auto* arrays : {params, target, mean, square})
    for (int i = 0; i < 2 * LAYERS; ++i) arrays[i] = call.in();
  for (auto* arrays : {new_params, new_target, new_mean, new_square})
    for (int i = 0; i < 2 * LAYERS; ++i) arrays[i] = call.out();
  const long agents = agents_in(call.argument(call.given), 0);
  const float *power1 = call.in(), *power2 = call.in();
  const int* updates = call.in<int>();
  float *new_power1 = call.out(), *new_power2 = call.out();
  int* new_updates = call.out<int>();
  float *loss = call.out(), *mean_q = call.out();
  const float *learning_rate = call.in(), *max_gradient = call.in(), *target_rate = call.in();
  const int* count = call.in<int>();
  const long n = size_of(call.argument(call.given), 2), r = size_of(call.argument(call.given), 1);
  Batches batch{};
  batch.obs = call.in(), batch.reward = call.in(), batch.discount = call.in();
  batch.next_obs = call.in(), batch.action = call.in<int>();
  long m = 0;
  if (call.given < call.frame->args.size) {
    m = size_of(call.argument(call.given), 1);
    batch.states = call.in(), batch.rewards = call.in(), batch.discounts = call.in();
    batch.next_states = call.in(), batch.choice = call.in<int>();
  }
  const bool fallback = call.number("fallback");
  const How how{int(m), int(r), int(fallback ? r : m + r), fallback, bool(call.number("double_q")),
                bool(call.number("huber"))};
  const int period = call.number("target_period");
  for (long agent = 0; agent < agents; ++agent) {
    fetch(room.net.own, params, agent);
    fetch(room.target.own, target, agent);
    fetch(room.mean, mean, agent);
    fetch(room.square, square, agent);
    renew_last(room.net), renew_last(room.target), renew_back(room.net);
    float first = power1[agent], second = power2[agent];
    int made = updates[agent];
    Seen seen{};
    for (long i = 0; i < n; ++i) {
      if (i < count[agent]) {
        seen = learn(room, batch, how);
        first *= 0.9f, second *= 0.999f, made += 1;
        descend(room.net.own, room.mean, room.square, room.gradient,
                clipped(room.gradient, max_gradient[agent]),
                Adam{learning_rate[agent] / (1.f - first), 1.f / (1.f - second)});
        renew_last(room.net), renew_back(room.net);
        if (made % period == 0) {
          follow(room.target.own, room.net.own, target_rate[agent]);
          renew_last(room.target);
        }
      }
      batch.obs += r * D, batch.reward += r, batch.discount += r, batch.next_obs += r * D;
      batch.action += r;
      batch.states += m * D, batch.rewards += m * A, batch.discounts += m * A;
      batch.next_states += m * A * D, batch.choice += m;
    }
    keep(room.net.own, new_params, agent);
    keep(room.target.own, new_target, agent);
    keep(room.mean, new_mean, agent);
    keep(room.square, new_square, agent);
    new_power1[agent] = first, new_power2[agent] = second, new_updates[agent] = made;
    loss[agent] = seen.loss, mean_q[agent] = seen.mean_q;
  }
}

KERNEL(hcdyna_plan, plan)
