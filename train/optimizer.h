// AdamW over all parameters of a model, with clipping by the global gradient norm.
#pragma once

#include <vector>

#include "model/language_model.h"
#include "train/run_config.h"

namespace sink {

class Optimizer {
 public:
  Optimizer(LanguageModel& model, const RunConfig& config);

  // Euclidean norm of all gradients together; NaN or infinite if any of them is.
  double gradient_norm() const;
  // Clips, updates every parameter and drops the gradients. `step` counts from 1.
  void step(double learning_rate, double gradient_norm, std::int64_t step);
  // Drops the gradients and changes nothing else.
  void skip();

  // Moments in the order of model.parameters().
  std::vector<Tensor>& first_moments() { return first_; }
  std::vector<Tensor>& second_moments() { return second_; }

 private:
  LanguageModel& model_;
  double beta1_, beta2_, epsilon_, weight_decay_, clip_;
  std::vector<Tensor> first_, second_;
};

}  // namespace sink
