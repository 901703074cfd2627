// The memory behind Device::cuda: of a GPU, or of the emulated device.
#pragma once

#include <string>

#include "engine/device.h"

namespace sink::cuda {

// Throws Error with Exit::device where there is no GPU that this build can use.
const DeviceMemory& device_memory();

// "cuda (emulated)", or "cuda (NVIDIA H200)".
std::string description();

}  // namespace sink::cuda
