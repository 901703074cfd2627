// SINK_COMPUTE_CAPABILITY, which chooses the kernels of a GPU: of an older one on a GPU, of any on the emulated device.
#pragma once

#include "engine/environment_number.h"

namespace sink::cuda {

// Its value, or `own` where it is not set. Throws Error (Exit::usage) if it is no number from 80 to `newest`.
inline int chosen_capability(int own, int newest) {
  return environment_number_or("SINK_COMPUTE_CAPABILITY", own, "a compute capability without its point (80 for 8.0)",
                               80, newest);
}

// The same for a GPU of compute capability `own`. It runs the kernels of older ones, except Hopper's: code for sm_90a
// runs on 9.0 only.
inline int chosen_capability_of_gpu(int own) {
  const int chosen = chosen_capability(own, own);
  if (chosen == 90 && own != 90)
    fail("environment",
         "SINK_COMPUTE_CAPABILITY=90 selects kernels that run on GPUs of compute capability 9.0 only, this one has " +
             std::to_string(own / 10) + "." + std::to_string(own % 10) +
             "; set it to 80 for the kernels of all other GPUs, or unset it",
         Exit::usage);
  return chosen;
}

}  // namespace sink::cuda
