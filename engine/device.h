// Where the numbers of a tensor live, and what a tensor needs of a device that is not the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sink {

enum class Device : std::uint8_t { cpu, cuda };

constexpr const char* name_of(Device device) { return device == Device::cuda ? "cuda" : "cpu"; }
// The device of a name that name_of gives.
Device device_named(const std::string& name);

// "cuda (emulated)" for the device that engine/cuda/emulated is, else name_of(device): for logs, checkpoints, reports.
std::string description_of(Device device);

// Throws Error with Exit::device, saying why, where tensors cannot be put on `device`: this build has no CUDA, or there
// is no GPU, or its driver is too old.
void check_usable(Device device);

class Tensor;

// The memory of a device. Copies and fills wait for kernels before them, and for themselves only where they say so.
struct DeviceMemory {
  void* (*allocate)(std::size_t bytes);  // null where there is none
  void (*release)(void* memory);
  void (*copy_in)(void* device, const void* host, std::size_t bytes);
  void (*copy_out)(void* host, const void* device, std::size_t bytes);  // waits until it is done
  void (*fill)(Tensor& x, double value);
  void (*convert)(const Tensor& from, Tensor& to);  // both on the device; also of one type
  // What is launched between the first two is written down and does not run (engine/recording.h). Memory that was asked
  // for meanwhile holds numbers only while the recording runs, and lasts until it is dropped.
  void (*begin_recording)();
  void* (*end_recording)();
  void (*run_recording)(void* recording);
  void (*drop_recording)(void* recording);
  std::size_t (*capacity)();  // bytes that it has; 0: nobody knows
};
// Checked as check_usable does.
const DeviceMemory& memory_of(Device device);

}  // namespace sink
