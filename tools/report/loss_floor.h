// How low a loss can go, where the task is a distribution that is known.
#pragma once

#include <optional>

#include "tools/report/run_reader.h"

namespace sink::report {

// Nats a target of the best possible predictor: expected on training batches, and on the very sequences that `val_loss`
// of the curves (and of the evaluation, if it is of as many) was measured on.
struct LossFloor {
  double train = 0;
  double validation = 0;
};

// None where it is not known: of text, and of settings that make no such task.
std::optional<LossFloor> loss_floor(const Run& run);

}  // namespace sink::report
