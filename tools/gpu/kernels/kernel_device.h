// The device of kernels.so: a GPU through the CUDA runtime (nvidia_kernel_device.cu) or the emulated device
// (emulated_kernel_device.cpp).
#pragma once

#include <cstddef>

#include "engine/device.h"

namespace sink::kernels {

// Later work of this thread goes to `stream`, null for the default one.
void use_stream(void* stream);
// Memory of the device: allocate, release, copies, fill and convert.
const DeviceMemory& device_memory();
void copy_on_device(void* to, const void* from, std::size_t bytes);
const char* device_name();
void synchronize();
void* event_create();
void event_record(void* event);
double event_elapsed(void* first, void* second);

}  // namespace sink::kernels
