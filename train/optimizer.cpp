#include "train/optimizer.h"

#include <cmath>

#include "engine/ops/adamw/adamw.h"
#include "engine/ops/sum_of_squares/sum_of_squares.h"

namespace sink {

Optimizer::Optimizer(LanguageModel& model, const RunConfig& config)
    : model_(model),
      beta1_(config.beta1),
      beta2_(config.beta2),
      epsilon_(config.adam_epsilon),
      weight_decay_(config.weight_decay),
      clip_(config.clip) {
  for (const auto& parameter : model.parameters()) {
    first_.push_back(Tensor::zeros(parameter->master().shape(), parameter->master().dtype()));
    second_.push_back(Tensor::zeros(parameter->master().shape(), parameter->master().dtype()));
  }
}

double Optimizer::gradient_norm() const {
  double sum = 0;
  for (const auto& parameter : model_.parameters())
    if (parameter->var().grad().defined()) sum += sum_of_squares(parameter->var().grad());
  return std::sqrt(sum);
}

void Optimizer::step(double learning_rate, double gradient_norm, std::int64_t step) {
  AdamwStep settings{.learning_rate = learning_rate,
                     .beta1 = beta1_,
                     .beta2 = beta2_,
                     .epsilon = epsilon_,
                     .weight_decay = weight_decay_,
                     .gradient_scale = clip_ > 0 && gradient_norm > clip_ ? clip_ / (gradient_norm + 1e-6) : 1.0,
                     .step = step};
  for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
    Parameter& parameter = *model_.parameters()[i];
    if (!parameter.var().grad().defined()) continue;
    adamw(settings, parameter.var().grad(), parameter.mutable_master(), first_[i], second_[i]);
    parameter.refresh();
    parameter.var().gradient().clear();
  }
}

void Optimizer::skip() {
  for (const auto& parameter : model_.parameters()) parameter->var().gradient().clear();
}

}  // namespace sink
