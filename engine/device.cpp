#include "engine/device.h"

#include "engine/check.h"

#ifdef SINK_CUDA
#include "engine/cuda/cuda_memory.h"
#endif

namespace sink {

Device device_named(const std::string& name) {
  for (Device device : {Device::cpu, Device::cuda})
    if (name == name_of(device)) return device;
  fail("device", "expected cpu or cuda, got " + name, Exit::usage);
}

std::string description_of(Device device) {
#ifdef SINK_CUDA
  if (device == Device::cuda) return cuda::description();
#endif
  return name_of(device);
}

void check_usable(Device device) {
  if (device != Device::cpu) memory_of(device);
}

const DeviceMemory& memory_of(Device device) {
  SINK_CHECK(device == Device::cuda, "device", "the CPU's memory is no device's");
#ifdef SINK_CUDA
  return cuda::device_memory();
#else
  fail("device",
       "this build has no CUDA. Build it again with -DSINK_CUDA=ON where there is a GPU, or with -DSINK_CUDA=EMULATED, "
       "which runs the same kernels on the CPU",
       Exit::device);
#endif
}

}  // namespace sink
