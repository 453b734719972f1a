// Threefry 2x32 (Salmon et al., 2011) as JAX uses it: block i of a key encrypts the count first + i.
#include <cstdint>
#include "call.h"

struct Block {
  uint32_t x, y;
};

static inline __attribute__((always_inline)) Block threefry(uint32_t k0, uint32_t k1, uint32_t y) {
  const uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t x = keys[0];
  y += keys[1];
#pragma GCC unroll 5
  for (int round = 0; round < 5; ++round) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int turn = turns[round % 2][i];
      x += y;
      y = (y << turn | y >> (32 - turn)) ^ x;
    }
    x += keys[(round + 1) % 3];
    y += keys[(round + 2) % 3] + round + 1;
  }
  return {x, y};
}

// The blocks of every key: whole, as two numbers, or their exclusive or, as one. Counts begin at 0
// unless an array says where.
static void random(Call call) {
  const bool whole = call.number("whole");
  const long count = agents_in(call.argument(0), 1);
  const auto* keys = call.in<uint32_t>();
  const auto* first = call.frame->args.size > 1 ? call.in<uint32_t>() : nullptr;
  const long each = size_of(call.result(0), whole ? 1 : 0);
  auto* bits = call.out<uint32_t>();
  for (long k = 0; k < count; ++k) {
    const uint32_t k0 = keys[2 * k], k1 = keys[2 * k + 1];
    const uint32_t start = first == nullptr ? 0 : first[k];
    if (whole) {
      for (long i = 0; i < each; ++i, bits += 2) {
        const Block block = threefry(k0, k1, start + uint32_t(i));
        bits[0] = block.x, bits[1] = block.y;
      }
    } else {
#pragma GCC ivdep
      for (long i = 0; i < each; ++i) {
        const Block block = threefry(k0, k1, start + uint32_t(i));
        bits[i] = block.x ^ block.y;
      }
      bits += each;
    }
  }
}

KERNEL(hcdyna_random, random)
