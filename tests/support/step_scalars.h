// The scalars of an optimizer step, for tests of optimizers.
#pragma once

#include "engine/ops/optimizer/update.h"

namespace sink {

inline Tensor step_scalars_of(double squared_norm = 0, double loss = 0, std::int64_t update = 1) {
  Tensor step_scalars = make_step_scalars(/*learning_rate=*/0.1, update);
  squared_norm_of(step_scalars).fill(squared_norm);
  loss_of(step_scalars).fill(loss);
  return step_scalars;
}

}  // namespace sink
