// The switch between fast kernels and the plain reference loops (`--reference`).
#pragma once

namespace sink {

// Set it before work starts; while it is true every operation that has both runs its sink::ref twin.
inline bool& use_reference() {
  static bool on = false;
  return on;
}

}  // namespace sink
