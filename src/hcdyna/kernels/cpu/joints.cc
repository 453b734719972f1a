// Arrays of many agents joined into one vector for each agent, and cut out of it again: the plain
// program has an operator for each array.
#include "call.h"

// The bytes that one agent has in a buffer [agents, …] of words.
static long part_of(const XLA_FFI_Buffer& buffer, long agents) {
  return agents_in(buffer, 0) / agents * 4;
}

// A vector [agents, words] → arrays [agents, …] that lie in it one behind the other.
static void cut(Call call) {
  const long agents = agents_in(call.argument(0), 1), row = part_of(call.argument(0), agents);
  const char* from = call.in<char>();
  for (long i = 0; i < call.frame->rets.size; ++i) {
    const long part = part_of(call.result(i), agents);
    char* to = call.out<char>();
    for (long agent = 0; agent < agents; ++agent)
      std::memcpy(to + agent * part, from + agent * row, part);
    from += part;
  }
}

// The way back.
static void join(Call call) {
  const long agents = agents_in(call.result(0), 1), row = part_of(call.result(0), agents);
  char* to = call.out<char>();
  for (long i = 0; i < call.frame->args.size; ++i) {
    const long part = part_of(call.argument(i), agents);
    const char* from = call.in<char>();
    for (long agent = 0; agent < agents; ++agent)
      std::memcpy(to + agent * row, from + agent * part, part);
    to += part;
  }
}

// Nothing: the results are the first arguments themselves, but who uses them waits for the others.
static void after(Call) {}

KERNEL(hcdyna_after, after)
KERNEL(hcdyna_cut, cut)
KERNEL(hcdyna_join, join)
