// Exercise 6 of the tour: one update of one weight.
#pragma once

namespace sink::tour {

struct Weight {
  double w, m, v;  // the weight, and the running means of its gradient and of the gradient's square
};

// AdamW as in engine/ops/optimizer/adamw.h, without clipping: `update` is 1 at the first update.
inline Weight updated(const Weight& before, [[maybe_unused]] double dw, [[maybe_unused]] int update,
                      [[maybe_unused]] double learning_rate, [[maybe_unused]] double weight_decay,
                      [[maybe_unused]] double beta1, [[maybe_unused]] double beta2, [[maybe_unused]] double epsilon) {
  return before;  // yours
}

}  // namespace sink::tour
