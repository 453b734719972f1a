// What a kernel has to know of XLA: its buffers, its numbers, and the question for its version.
// The C interface alone, because the C++ one takes longer to compile than a kernel.
#pragma once
#include <cstring>
#include "xla/ffi/api/c_api.h"

struct Call {
  XLA_FFI_CallFrame* frame;
  long given = 0, taken = 0;

  const XLA_FFI_Buffer& argument(long i) const {
    return *static_cast<XLA_FFI_Buffer*>(frame->args.args[i]);
  }
  const XLA_FFI_Buffer& result(long i) const {
    return *static_cast<XLA_FFI_Buffer*>(frame->rets.rets[i]);
  }
  // The next argument or result, in order.
  template <typename T = float>
  const T* in() { return static_cast<const T*>(argument(given++).data); }
  template <typename T = float>
  T* out() { return static_cast<T*>(result(taken++).data); }

  int number(const char* name) const {
    for (long i = 0; i < frame->attrs.size; ++i) {
      const XLA_FFI_ByteSpan& found = *frame->attrs.names[i];
      if (found.len == std::strlen(name) && !std::memcmp(found.ptr, name, found.len))
        return *static_cast<int*>(static_cast<XLA_FFI_Scalar*>(frame->attrs.attrs[i])->value);
    }
    return 0;
  }
};

// The size of an axis, counted from the last one.
inline long size_of(const XLA_FFI_Buffer& buffer, int from_last) {
  return buffer.dims[buffer.rank - 1 - from_last];
}

// How many agents there are in a buffer whose last axes belong to one agent.
inline long agents_in(const XLA_FFI_Buffer& buffer, int own_axes) {
  long count = 1;
  for (long i = 0; i < buffer.rank - own_axes; ++i) count *= buffer.dims[i];
  return count;
}

inline bool asked_for_version(XLA_FFI_CallFrame* frame) {
  auto* extension = frame->extension_start;
  if (extension == nullptr || extension->type != XLA_FFI_Extension_Metadata) return false;
  auto* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata;
  metadata->api_version = XLA_FFI_Api_Version{XLA_FFI_Api_Version_STRUCT_SIZE, nullptr,
                                              XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
  metadata->traits = 0;
  return true;
}

#define KERNEL(name, function)                                        \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error*    \
  name(XLA_FFI_CallFrame* frame) {                                    \
    if (!asked_for_version(frame)) function(Call{frame});             \
    return nullptr;                                                   \
  }
