// The emulated device as the device of kernels.so. Its events measure the CPU's time.
#include <chrono>

#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/emulated/memory.h"
#include "tools/gpu/kernels/kernel_device.h"

namespace sink::kernels {

using Clock = std::chrono::steady_clock;

void use_stream(void*) {}
const DeviceMemory& device_memory() { return cuda::device_memory(); }
void copy_on_device(void* to, const void* from, std::size_t bytes) { emulated::copy_on_device(to, from, bytes); }
const char* device_name() { return "emulated"; }
void synchronize() {}
void* event_create() { return new Clock::time_point; }
void event_record(void* event) { *static_cast<Clock::time_point*>(event) = Clock::now(); }
double event_elapsed(void* first, void* second) {
  return std::chrono::duration<double, std::milli>(*static_cast<Clock::time_point*>(second) -
                                                   *static_cast<Clock::time_point*>(first))
      .count();
}

}  // namespace sink::kernels
