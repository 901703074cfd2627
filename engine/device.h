// Devices of tensors, and the functions that a tensor needs from a device other than the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sink {

enum class Device : std::uint8_t { cpu, cuda };

constexpr const char* name_of(Device device) { return device == Device::cuda ? "cuda" : "cpu"; }
// The inverse of name_of.
Device device_named(const std::string& name);

// "cuda (emulated)" for the emulated device (engine/cuda/emulated), else name_of(device): for logs and reports.
std::string description_of(Device device);

// Throws Error with Exit::device and the reason where `device` cannot be used: this build has no CUDA, there is no GPU,
// or its driver is too old.
void check_usable(Device device);

class Tensor;

// The memory of a device. Copies and fills run after earlier kernels; they are asynchronous unless noted.
struct DeviceMemory {
  void* (*allocate)(std::size_t bytes);  // null where there is none
  void (*release)(void* memory);
  void (*copy_in)(void* device, const void* host, std::size_t bytes);
  void (*copy_out)(void* host, const void* device, std::size_t bytes);  // waits until it is done
  void (*fill)(Tensor& x, double value);
  void (*convert)(const Tensor& from, Tensor& to);  // both on the device; also of one type
  // Launches between the first two calls are recorded and do not run (engine/recording.h). Memory that is allocated in
  // between is valid only while the recording runs, and is freed when the recording is dropped.
  void (*begin_recording)();
  void* (*end_recording)();
  void (*run_recording)(void* recording);
  void (*drop_recording)(void* recording);
  std::size_t (*capacity)();  // in bytes; 0: unknown
};
// Throws as check_usable.
const DeviceMemory& memory_of(Device device);

}  // namespace sink
