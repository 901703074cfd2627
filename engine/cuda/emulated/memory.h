// Memory of the emulated device: every allocation between pages that nobody may touch, and all of it out of bounds for
// host code. A kernel opens what it touches; at its end all is closed again. What may not be ends the program with one
// message:
//   host code that reads or writes device memory; a kernel beside or behind an allocation, or in a freed one, with
//   block, thread and source line.
// New memory holds NaN. Its end lies at the page's end in even schedules, its beginning at the page's beginning in odd
// ones; the rest of those pages is checked when the memory is freed.
#pragma once

#include <cstddef>
#include <mutex>

namespace sink::emulated {

// How large the device is: SINK_DEVICE_MIB=0.5 is half a MiB. 0 where that is not set: as large as the CPU's memory.
std::size_t device_bytes();
// Aligned to 16 bytes; null where there is no memory.
void* allocate_device(std::size_t bytes);
void free_device(void* memory);

// Memory of a recording (emulated/launches.h) is kept as if it were freed, but for the time between these two: from
// when it holds NaN, as new memory does, to where it is freed. At the end it is let go of.
void close_device(void* memory);
void reopen_device(void* memory);
void drop_device(void* memory);

// Whether an address lies in an allocation, or in the pages around it.
bool is_device_memory(const void* address);

// As cudaMemcpy and cudaMemset: `device` and the bytes behind it lie in one allocation, or they throw.
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_on_device(void* to, const void* from, std::size_t bytes);
void set_device_bytes(void* device, int value, std::size_t bytes);

// The device does one thing at a time: whoever runs a kernel, copies, allocates or frees holds it.
std::recursive_mutex& device_mutex();

// While one exists, this process may touch device memory as a kernel does.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace sink::emulated
