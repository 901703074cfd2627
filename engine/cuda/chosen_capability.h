// SINK_COMPUTE_CAPABILITY, which chooses the kernels of a GPU: of an older one on a GPU, of any on the emulated device.
#pragma once

#include "engine/environment_number.h"

namespace sink::cuda {

// Its value, or `own` where it is not set. Throws Error (Exit::usage) if it is no number from 80 to `newest`.
inline int chosen_capability(int own, int newest) {
  return environment_number_or("SINK_COMPUTE_CAPABILITY", own, "a compute capability without its point (80 for 8.0)",
                               80, newest);
}

}  // namespace sink::cuda
