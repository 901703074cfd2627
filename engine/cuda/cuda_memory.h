// The memory of Device::cuda, of a GPU or of the emulated device, and fills and conversions of tensors in it.
#pragma once

#include <string>

#include "engine/tensor.h"

namespace sink::cuda {

// Throws Error with Exit::device if there is no GPU that this build can use.
const DeviceMemory& device_memory();

// "cuda (emulated)", or "cuda (NVIDIA H200)".
std::string description();

// Major version times 10 plus minor version: 90 for 9.0. Of the emulated device: that of the environment variable
// SINK_COMPUTE_CAPABILITY, or 80.
int compute_capability();

void fill(Tensor& x, double value);
// From any real type to any real type; I32 only to I32.
void convert(const Tensor& from, Tensor& to);

}  // namespace sink::cuda
