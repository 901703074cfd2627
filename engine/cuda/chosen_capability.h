// SINK_COMPUTE_CAPABILITY, which chooses the kernels of a GPU: of an older one on a GPU, of any on the emulated device.
#pragma once

#include <charconv>
#include <cstdlib>
#include <string>

#include "engine/check.h"

namespace sink::cuda {

// Its value, or `own` where it is not set. Throws Error (Exit::usage) if it is no number from 80 to `newest`.
inline int chosen_capability(int own, int newest) {
  const char* variable = std::getenv("SINK_COMPUTE_CAPABILITY");
  if (!variable) return own;
  const std::string value = variable;
  int chosen = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), chosen);
  if (error != std::errc() || end != value.data() + value.size() || chosen < 80 || chosen > newest)
    fail("cuda",
         "SINK_COMPUTE_CAPABILITY is expected to be the digits of a compute capability from 80 (for 8.0) to " +
             std::to_string(newest) + ", got \"" + value + "\"",
         Exit::usage);
  return chosen;
}

}  // namespace sink::cuda
