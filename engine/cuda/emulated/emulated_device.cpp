// The emulated device as the engine sees a device: memory, copies, recordings.
#include "engine/cuda/chosen_capability.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/emulated/launches.h"
#include "engine/cuda/emulated/memory.h"

namespace sink::cuda {

const DeviceMemory& device_memory() {
  compute_capability();  // refuses a wrong SINK_COMPUTE_CAPABILITY
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
  static const int chosen = chosen_capability(80, 120);
  return chosen;
}

}  // namespace sink::cuda
