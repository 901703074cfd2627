// Recording: launches on a device that are recorded once and then run repeatedly as one (a CUDA graph). Its kernels
// use the recorded addresses and scalar arguments in every run; only the contents of tensors may differ between
// runs.
#pragma once

#include <functional>
#include <string>

#include "engine/device.h"

namespace sink {

class Recording {
 public:
  // Calls `launches`, whose work on `device` (not the CPU) is recorded and does not run. One recording at a time, and
  // no other launches meanwhile. Throws what `launches` throws, and Error where the work cannot be repeated: it copied
  // between host and device, kept a tensor that it allocated, or released one that it did not allocate.
  Recording(Device device, const std::function<void()>& launches);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Launches all of it and returns before it is done.
  void run() const;

 private:
  Device device_;
  void* launches_;
};

// Empty if work on `device` can be recorded, else the reason. The first call tries it with a small recording.
const std::string& recording_refusal(Device device);

// false if SINK_MEMORY_POOLS=off, which treats a device as one without memory pools: to test and to work around
// drivers. Throws Error (Exit::usage) if it is neither on nor off.
bool memory_pools_allowed();

// ---- Called by storage and tensors; without effect unless a recording is being made ----

void note_allocated(const void* memory);
void note_released(const void* memory);
// Throws: a copy between host and device would be made once, not at every run.
void refuse_copy_while_recording();

}  // namespace sink
