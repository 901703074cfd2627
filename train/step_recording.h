// Runs the launches of a training step: directly while they are new, then as one recording (a CUDA graph), which saves
// the host the calls and the GPU the gaps between kernels. The results have the same bits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/recording.h"

namespace sink {

class StepRecording {
 public:
  // Whether anything is ever recorded: not on the CPU, not where `wanted` is false, and not on a device that cannot
  // (recording_refusal).
  StepRecording(Device device, bool wanted);

  bool wanted() const { return wanted_; }

  // Runs `launches`. Every call must do the same work, except for the contents of tensors and for `constants`, the
  // values that kernels take by value and that may differ. The first step with new constants is launched directly, and
  // so is every step if they always differ. The second step with the same constants is recorded; by then everything
  // that is created at first use exists. Without `may_record` the step is launched directly, too.
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
