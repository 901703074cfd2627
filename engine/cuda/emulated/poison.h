// Reports memory that no kernel may access to AddressSanitizer, in programs that are linked with it, such as
// kernels_asan_test, whose kernels alone are compiled with it. In other programs these functions are null.
#pragma once

#include <cstddef>

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* memory, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* memory, std::size_t bytes);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* stack, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** stack, std::size_t* bytes);
}

namespace sink::emulated {

inline void poison(const void* memory, std::size_t bytes) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const void* memory, std::size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(memory, bytes);
}

}  // namespace sink::emulated
