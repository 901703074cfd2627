// The builds of sanitizers compute a part of the cases of tests that are long: every seventh in turn, so that loops
// over fewer things each reach all of them. A sanitizer looks at memory, and cases of one kind treat it alike; the
// other builds compute every case.
#pragma once

namespace sink::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizer = true;
#else
inline constexpr bool kSanitizer = false;
#endif

inline bool in_turn() {
  static int calls = 0;
  return !kSanitizer || calls++ % 7 == 0;
}

}  // namespace sink::test
