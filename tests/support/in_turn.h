// The builds of sanitizers compute a part of the cases of tests that are long: every fourth in turn. The operations of
// attention share the code that touches memory, and the other builds compare all of their values.
#pragma once

namespace sink::test {

inline bool in_turn() {
#if defined(__SANITIZE_ADDRESS__)
  static int calls = 0;
  return calls++ % 4 == 0;
#else
  return true;
#endif
}

}  // namespace sink::test
