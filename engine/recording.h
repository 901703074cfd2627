// Recording: the launches of some work on a device, written down once and then run again and again as one: a CUDA
// graph. What it reads and writes is where it was when it was recorded, and numbers that went to kernels by value are
// what they were; only what lies in tensors may differ from run to run.
#pragma once

#include <functional>

#include "engine/device.h"

namespace sink {

class Recording {
 public:
  // Calls `launches`, whose work on `device`, not the CPU, is written down and does not run. One at a time, and nothing
  // else is launched meanwhile. Throws what `launches` throws, and Error where the work could not be repeated: it
  // copied between host and device, kept a tensor that it made, or let go of one that it did not make.
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

// ---- What storage and tensors say of themselves while one is made; at other times nothing comes of it ----

void note_allocated(const void* memory);
void note_released(const void* memory);
// Throws: a copy between host and device would be made once, not at every run.
void refuse_copy_while_recording();

}  // namespace sink
