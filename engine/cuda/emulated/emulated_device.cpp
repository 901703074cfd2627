// The emulated device as the engine sees a device: memory, copies, recordings.
#include <cstdlib>

#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/emulated/launches.h"
#include "engine/cuda/emulated/memory.h"

namespace sink::cuda {

const DeviceMemory& device_memory() {
  static const DeviceMemory emulated{emulated::allocate_device,
                                     emulated::free_device,
                                     emulated::copy_to_device,
                                     emulated::copy_from_device,
                                     fill,
                                     convert,
                                     emulated::begin_recording,
                                     emulated::end_recording,
                                     emulated::run_recording,
                                     emulated::drop_recording,
                                     emulated::device_bytes};
  return emulated;
}

std::string description() { return "cuda (emulated)"; }

int compute_capability() {
  static const char* chosen = std::getenv("SINK_COMPUTE_CAPABILITY");
  return chosen ? std::atoi(chosen) : 80;
}

}  // namespace sink::cuda
