// A part of the cases of tests that are long: every seventh in turn, so that loops over fewer things each reach all of
// them. The builds of sanitizers compute a part, because a sanitizer looks at memory, and cases of one kind treat it
// alike; and so does every build where the environment says SINK_SHORT_TESTS, as `tools/test.sh` does without --all.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace sink::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizer = true;
#else
inline constexpr bool kSanitizer = false;
#endif

inline bool is_short() { return kSanitizer || std::getenv("SINK_SHORT_TESTS"); }

// All of them or, in short tests, the first `few`.
template <class T>
std::vector<T> some_of(std::initializer_list<T> all, std::size_t few = 1) {
  return std::vector<T>(all.begin(), is_short() && few < all.size() ? all.begin() + few : all.end());
}

inline bool in_turn() {
  static int calls = 0;
  return !is_short() || calls++ % 7 == 0;
}

}  // namespace sink::test
