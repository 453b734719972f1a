// One update of a network that learns the world: differences, reward and end of each action
// (models/ensemble.py is the reference). EACH numbers are answered for every action.
#include <initializer_list>
#include "call.h"
#include "network.h"

struct alignas(64) Room {
  Network net;
  Parameters mean, square, gradient;
  Values values, errors;
};

// The errors of all rows as errors of the outputs, and the loss.
static float errors_of(Room& room, long rows, int each, const int* action, const float* truth,
                       const float* ended, const float* move, const float* rest) {
  const float* out = room.values.outputs();
  float* errors = room.errors.outputs();
  float loss = 0.f;
  for (long r = 0; r < rows; ++r) {
    const long at = r * OUTPUTS_FULL + action[r] * each;
    for (int j = 0; j < each - 1; ++j) {
      const float weight = j < each - 2 ? move[r] : rest[r];
      const float error = out[at + j] - truth[r * (each - 1) + j];
      loss += weight * error * error;
      errors[at + j] = 2.f * weight * error;
    }
    const float odds = out[at + each - 1], small = expf(-fabsf(odds));
    loss += rest[r] * (fmaxf(odds, 0.f) - odds * ended[r] + log1pf(small));
    const float chance = (odds >= 0.f ? 1.f : small) / (1.f + small);
    errors[at + each - 1] = rest[r] * (chance - ended[r]);
  }
  return loss;
}

// Arguments and results come in the order in which they are taken here.
static void fit(Call call) {
  static thread_local Room* own = nullptr;
  if (own == nullptr) own = new Room{};
  Room& room = *own;
  const float *params[2 * LAYERS], *mean[2 * LAYERS], *square[2 * LAYERS];
  float *new_params[2 * LAYERS], *new_mean[2 * LAYERS], *new_square[2 * LAYERS];
  for (auto* arrays : {params, mean, square})
    for (int i = 0; i < 2 * LAYERS; ++i) arrays[i] = call.in();
  for (auto* arrays : {new_params, new_mean, new_square})
    for (int i = 0; i < 2 * LAYERS; ++i) arrays[i] = call.out();
  float* loss = call.out();
  const long networks = agents_in(call.argument(call.given), 0);
  const float *rate = call.in(), *correction = call.in();
  const long rows = size_of(call.argument(call.given), 1), whole = round_up(rows, TILE);
  const int each = call.number("each");
  const float* questions = call.in();
  const int* action = call.in<int>();
  const float *truth = call.in(), *ended = call.in(), *move = call.in(), *rest = call.in();
  for (long n = 0; n < networks; ++n) {
    fetch(room.net.own, params, n);
    fetch(room.mean, mean, n);
    fetch(room.square, square, n);
    renew_last(room.net), renew_back(room.net);
    std::memcpy(room.values.states(), questions + n * rows * INPUTS, sizeof(float) * rows * INPUTS);
    std::memset(room.values.states() + rows * INPUTS, 0, sizeof(float) * (whole - rows) * INPUTS);
    forward(room.net, room.values, whole);
    std::memset(room.errors.outputs(), 0, sizeof(float) * whole * OUTPUTS_FULL);
    loss[n] = errors_of(room, rows, each, action + n * rows, truth + n * rows * (each - 1),
                        ended + n * rows, move + n * rows, rest + n * rows);
    backward(room.net, room.values, room.errors, room.gradient, whole);
    descend(room.net.own, room.mean, room.square, room.gradient, 1.f, Adam{rate[n], correction[n]});
    keep(room.net.own, new_params, n);
    keep(room.mean, new_mean, n);
    keep(room.square, new_square, n);
  }
}

KERNEL(hcdyna_fit, fit)
