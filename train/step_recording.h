// Runs the launches of a training step: as they come where they are new, and from then on as one recording, a CUDA
// graph, which spares the host the calls and the GPU the gaps between kernels. The results have the same bits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/recording.h"

namespace sink {

class StepRecording {
 public:
  // Whether anything is ever recorded: not on the CPU, and not where `wanted` is false.
  StepRecording(Device device, bool wanted) : device_(device), wanted_(wanted && device != Device::cpu) {}

  bool wanted() const { return wanted_; }

  // Runs `launches`, the same work at every call but for what lies in tensors and for `constants`: what goes to kernels
  // by value and may differ. The first step with other constants is launched as it comes, and so is every step where
  // they differ each time; the second with the same ones is recorded, when whatever is made at first use has been made.
  // Without `may_record` the step is launched as it comes, too.
  void run(const std::vector<std::int64_t>& constants, bool may_record, const std::function<void()>& launches);

  // Whether the last step ran as a recording.
  bool replays() const { return recording_ != nullptr; }

 private:
  Device device_;
  bool wanted_;
  std::vector<std::int64_t> constants_;
  std::unique_ptr<Recording> recording_;
};

}  // namespace sink
