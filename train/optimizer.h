// AdamW over all parameters of a model at once, with clipping by the global gradient norm.
#pragma once

#include "autograd/parameter_arena.h"
#include "engine/ops/adamw/adamw.h"
#include "train/run_config.h"

namespace sink {

class Optimizer {
 public:
  // Keeps `parameters`, and makes room for their gradients. Zero moments.
  Optimizer(ParameterArena& parameters, const RunConfig& config);

  // The sum of the squares of all gradients; `sum`: F64, of one element. NaN or infinite if any gradient is.
  void sum_squared_gradients(Tensor& sum) const;
  // Clips by the norm (the root of that sum), updates the parameters that have a gradient, and drops the gradients.
  // `numbers` are those of adamw.h, on the device of the parameters. Reads none of them back.
  void step(const Tensor& numbers);
  // Drops the gradients and changes nothing else.
  void skip();

  // Laid out like the parameters' master values.
  Tensor& first_moment() { return first_; }
  Tensor& second_moment() { return second_; }

 private:
  ParameterArena& parameters_;
  AdamwSettings settings_;
  Tensor first_, second_;
};

}  // namespace sink
