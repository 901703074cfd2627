#include "train/stop_checks.h"

#include <utility>

#include "train/interrupt.h"

namespace sink {

int StopChecks::stop_signal() {
  const ControlFlags flags = strategy_.agree({.stop_signal = stop_requested(), .save = sink::take_save_request()});
  save_requested_ |= flags.save;
  return flags.stop_signal;
}

bool StopChecks::take_save_request() { return std::exchange(save_requested_, false); }

void StopChecks::check() {
  if (const int signal = stop_signal()) throw Stopped{signal};
}

std::unique_ptr<StopCheck> StopChecks::between_operations() const {
  if (!is_single_process_ || device_ != Device::cpu) return nullptr;
  return std::make_unique<StopCheck>([] {
    if (const int signal = stop_requested()) throw Stopped{signal};
  });
}

void StopChecks::between_micro_batches(bool long_step, const Tensor& value) {
  if (device_ != Device::cpu) {
    if (!long_step) return;
    value.to(Device::cpu);
  }
  check();
}

}  // namespace sink
