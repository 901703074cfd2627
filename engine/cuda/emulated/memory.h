// Memory of the emulated device: every allocation is between guard pages, and host code has no access to any of it. A
// kernel's first access to an allocation unprotects its pages; they are protected again when the kernel ends. These
// errors end the program with a message:
//   host code that reads or writes device memory; a kernel that accesses memory before or after an allocation, or freed
//   memory, with block, thread and source line.
// New memory is filled with NaN. It is aligned to the end of its pages in even schedules and to their beginning in odd
// ones; the rest of its pages is checked when it is freed.
#pragma once

#include <cstddef>
#include <mutex>

namespace sink::emulated {

// The size of the device by SINK_DEVICE_MIB (0.5 is half a MiB). 0 if that is not set: limited by the CPU's memory.
std::size_t device_bytes();
// Aligned to 16 bytes; null if there is not enough memory.
void* allocate_device(std::size_t bytes);
void free_device(void* memory);

// Memory of a recording (emulated/launches.h). It is inaccessible after close_device(), as if freed; reopen_device()
// fills it with NaN, as if allocated. drop_device() frees it with the recording.
void close_device(void* memory);
void reopen_device(void* memory);
void drop_device(void* memory);

// Whether an address is in an allocation or its guard pages.
bool is_device_memory(const void* address);

// As cudaMemcpy. Throw where a range of device memory is not inside of one allocation.
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_on_device(void* to, const void* from, std::size_t bytes);

// Held while a kernel runs and during copies, allocations and frees: the device does one thing at a time.
std::recursive_mutex& device_mutex();

// While one exists, this process may access device memory as a kernel does.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace sink::emulated
