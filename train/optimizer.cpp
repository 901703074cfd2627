#include "train/optimizer.h"

#include "engine/ops/adamw/adamw.h"
#include "engine/ops/sum_of_squares/sum_of_squares.h"

namespace sink {

Optimizer::Optimizer(ParameterArena& parameters, const RunConfig& config)
    : parameters_(parameters),
      beta1_(config.beta1),
      beta2_(config.beta2),
      epsilon_(config.adam_epsilon),
      weight_decay_(config.weight_decay),
      clip_(config.clip),
      first_(parameters.masters().new_zeros(parameters.masters().shape(), parameters.masters().dtype())),
      second_(parameters.masters().new_zeros(parameters.masters().shape(), parameters.masters().dtype())) {
  parameters_.allocate_gradients();
}

void Optimizer::sum_squared_gradients(Tensor& sum) const {
  sum_of_squares(parameters_.gradients(), parameters_.segments_with_gradient(), sum);
}

void Optimizer::step(double learning_rate, double gradient_norm, std::int64_t update) {
  AdamwStep settings{.learning_rate = learning_rate,
                     .beta1 = beta1_,
                     .beta2 = beta2_,
                     .epsilon = epsilon_,
                     .weight_decay = weight_decay_,
                     .gradient_scale = clip_ > 0 && gradient_norm > clip_ ? clip_ / (gradient_norm + 1e-6) : 1.0,
                     .step = update};
  for (const Segment& span : parameters_.spans_with_gradient()) {
    Tensor w = parameters_.masters().rows(span.begin, span.end);
    Tensor m = first_.rows(span.begin, span.end), v = second_.rows(span.begin, span.end);
    adamw(settings, parameters_.gradients().rows(span.begin, span.end), w, m, v);
  }
  parameters_.refresh();
  parameters_.clear_gradients();
}

void Optimizer::skip() { parameters_.clear_gradients(); }

}  // namespace sink
