// One vector of every agent, cut into arrays: the plain program has an operator for each of them.
#include "call.h"

// A vector [agents, n] and the bytes of an element → arrays [agents, …] with n elements together.
static void cut(Call call) {
  const long bytes = call.number("bytes"), agents = agents_in(call.argument(0), 1);
  const long row = size_of(call.argument(0), 0) * bytes;
  const char* from = call.in<char>();
  for (long i = 0; i < call.frame->rets.size; ++i) {
    const long part = agents_in(call.result(i), 0) / agents * bytes;
    char* to = call.out<char>();
    for (long agent = 0; agent < agents; ++agent)
      std::memcpy(to + agent * part, from + agent * row, part);
    from += part;
  }
}

KERNEL(hcdyna_cut, cut)
