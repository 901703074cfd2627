// Memory that no kernel may touch, said to AddressSanitizer where a program is linked with it: the test
// kernels_asan_test is, whose kernels alone are compiled with it. Elsewhere these functions are null, and nothing is
// said.
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
