// The functions that -fsanitize=thread calls before every access of a kernel, for the race detector. This file is
// compiled without -fsanitize=thread, and the sanitizer's library is not linked.

#include "engine/cuda/emulated/races.h"

#define SINK_ACCESS(name, bytes, write)                                     \
  void __tsan_##name(void* p) {                                             \
    if (const auto* races = sink::emulated::race_hooks()) [[unlikely]]      \
      races->access(p, bytes, write, false, {__builtin_return_address(0)}); \
  }
#define SINK_ACCESSES(bytes)                       \
  SINK_ACCESS(read##bytes, bytes, false)           \
  SINK_ACCESS(write##bytes, bytes, true)           \
  SINK_ACCESS(unaligned_read##bytes, bytes, false) \
  SINK_ACCESS(unaligned_write##bytes, bytes, true) \
  SINK_ACCESS(volatile_read##bytes, bytes, false)  \
  SINK_ACCESS(volatile_write##bytes, bytes, true)
// A compare-exchange counts as a write, also where it fails.
#define SINK_RECORD_ATOMIC(write)                                    \
  if (const auto* races = sink::emulated::race_hooks()) [[unlikely]] \
  races->access(p, sizeof *p, write, true, {__builtin_return_address(0)})
#define SINK_ATOMIC(bits)                                                                                   \
  using Int##bits = std::uint##bits##_t;                                                                    \
  Int##bits __tsan_atomic##bits##_load(const Int##bits* p, int) {                                           \
    SINK_RECORD_ATOMIC(false);                                                                              \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                         \
  void __tsan_atomic##bits##_store(Int##bits* p, Int##bits x, int) {                                        \
    SINK_RECORD_ATOMIC(true);                                                                               \
    __atomic_store_n(p, x, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                         \
  Int##bits __tsan_atomic##bits##_exchange(Int##bits* p, Int##bits x, int) {                                \
    SINK_RECORD_ATOMIC(true);                                                                               \
    return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                         \
  Int##bits __tsan_atomic##bits##_fetch_add(Int##bits* p, Int##bits x, int) {                               \
    SINK_RECORD_ATOMIC(true);                                                                               \
    return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                         \
  Int##bits __tsan_atomic##bits##_fetch_sub(Int##bits* p, Int##bits x, int) {                               \
    SINK_RECORD_ATOMIC(true);                                                                               \
    return __atomic_fetch_sub(p, x, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                         \
  bool __tsan_atomic##bits##_compare_exchange_strong(Int##bits* p, Int##bits* old, Int##bits x, int, int) { \
    SINK_RECORD_ATOMIC(true);                                                                               \
    return __atomic_compare_exchange_n(p, old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);               \
  }                                                                                                         \
  bool __tsan_atomic##bits##_compare_exchange_weak(Int##bits* p, Int##bits* old, Int##bits x, int, int) {   \
    SINK_RECORD_ATOMIC(true);                                                                               \
    return __atomic_compare_exchange_n(p, old, x, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
  }

extern "C" {
SINK_ACCESSES(1)
SINK_ACCESSES(2)
SINK_ACCESSES(4)
SINK_ACCESSES(8)
SINK_ACCESSES(16)
SINK_ATOMIC(8)
SINK_ATOMIC(16)
SINK_ATOMIC(32)
SINK_ATOMIC(64)
void __tsan_read_range(void* p, unsigned long bytes) {
  if (const auto* races = sink::emulated::race_hooks())
    races->access(p, bytes, false, false, {__builtin_return_address(0)});
}
void __tsan_write_range(void* p, unsigned long bytes) {
  if (const auto* races = sink::emulated::race_hooks())
    races->access(p, bytes, true, false, {__builtin_return_address(0)});
}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
