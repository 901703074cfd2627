// StopChecks: the points of a training run at which it reads the signals of train/interrupt.h, the same on every
// process.
#pragma once

#include <memory>

#include "engine/device.h"
#include "engine/stop_point.h"
#include "train/distributed/distributed_strategy.h"

namespace sink {

// What a step or an evaluation throws where a signal asks to stop: it is dropped, and the run is saved as it was
// before.
struct Stopped {
  int signal = 0;
};

class StopChecks {
 public:
  StopChecks(DistributedStrategy& strategy, Device device, bool is_single_process)
      : strategy_(strategy), device_(device), is_single_process_(is_single_process) {}

  // Returns the signal that asked any process to stop, 0 without one. All processes call it together.
  int stop_signal();
  // Returns whether SIGUSR1 has asked any process to save since the last call, as of the last stop_signal().
  bool take_save_request();
  // Throws Stopped if stop_signal() is not 0. All processes call it together.
  void check();
  // For a single CPU process: a check that leaves a computation between two of its operations while it lives; nullptr
  // otherwise. Several processes wait for each other's gradients, so they stop together between micro-batches.
  std::unique_ptr<StopCheck> between_operations() const;
  // As check(), between two micro-batches. On a GPU only in a long step, which is not recorded as a CUDA graph:
  // reading `value` waits for the micro-batches before. All processes call it together.
  void between_micro_batches(bool long_step, const Tensor& value);

 private:
  DistributedStrategy& strategy_;
  Device device_;
  bool is_single_process_;
  bool save_requested_ = false;
};

}  // namespace sink
