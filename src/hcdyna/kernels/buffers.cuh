// The buffers of a call by XLA, one after the other.
#pragma once
#include "common.cuh"

struct Buffers {
  ffi::RemainingArgs& args;
  ffi::RemainingRets& rets;
  size_t given = 0, taken = 0;
  bool missing = false;  // whether there were fewer than asked for

  ffi::AnyBuffer::Dimensions shape_of_next() {
    auto buffer = args.get<ffi::AnyBuffer>(given);
    return buffer.has_error() ? ffi::AnyBuffer::Dimensions{} : buffer->dimensions();
  }
  template <typename T = float>
  const T* in() {
    auto buffer = args.get<ffi::AnyBuffer>(given++);
    if (buffer.has_error()) return missing = true, nullptr;
    return static_cast<const T*>(buffer->untyped_data());
  }
  template <typename T = float>
  T* out() {
    auto buffer = rets.get<ffi::AnyBuffer>(taken++);
    if (buffer.has_error()) return missing = true, nullptr;
    return static_cast<T*>((*buffer)->untyped_data());
  }
};

inline int count_of(ffi::AnyBuffer::Dimensions shape) {
  int count = 1;
  for (auto size : shape) count *= size;
  return count;
}
