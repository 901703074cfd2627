#include "train/optimizer.h"

#include "engine/ops/sum_of_squares/sum_of_squares.h"

namespace sink {

Optimizer::Optimizer(ParameterArena& parameters, const RunConfig& config)
    : parameters_(parameters),
      settings_{.beta1 = config.beta1,
                .beta2 = config.beta2,
                .epsilon = config.adam_epsilon,
                .weight_decay = config.weight_decay,
                .clip = config.clip},
      first_(parameters.masters().new_zeros(parameters.masters().shape(), parameters.masters().dtype())),
      second_(parameters.masters().new_zeros(parameters.masters().shape(), parameters.masters().dtype())) {
  parameters_.allocate_gradients();
}

void Optimizer::sum_squared_gradients(Tensor& sum) const {
  sum_of_squares(parameters_.gradients(), parameters_.segments_with_gradient(), sum);
}

void Optimizer::step(const Tensor& numbers) {
  for (const Segment& span : parameters_.spans_with_gradient()) {
    Tensor w = parameters_.masters().rows(span.begin, span.end);
    Tensor m = first_.rows(span.begin, span.end), v = second_.rows(span.begin, span.end);
    Tensor copy = parameters_.copy().defined() ? parameters_.copy().rows(span.begin, span.end) : Tensor();
    adamw(settings_, numbers, parameters_.gradients().rows(span.begin, span.end), w, m, v, copy);
  }
  parameters_.clear_gradients();
}

void Optimizer::skip() { parameters_.clear_gradients(); }

}  // namespace sink
