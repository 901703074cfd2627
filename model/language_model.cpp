#include "model/language_model.h"

#include <algorithm>

namespace sink {

std::int64_t LanguageModel::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters_) count += parameter->master().size();
  return count;
}

void LanguageModel::refresh_parameters() {
  for (const auto& parameter : parameters_) parameter->refresh();
}

double LanguageModel::training_flops(std::int64_t tokens, std::int64_t T) const {
  double in_products = 0;
  for (const auto& parameter : parameters_) {
    const std::string& name = parameter->name();
    bool table = name.starts_with("embedding.") || name.starts_with("position.");
    if (name.ends_with(".weight") && !table) in_products += static_cast<double>(parameter->master().size());
  }
  bool tied = std::none_of(parameters_.begin(), parameters_.end(),
                           [](const auto& parameter) { return parameter->name() == "unembedding.weight"; });
  if (tied) in_products += static_cast<double>(sizes_.vocabulary * sizes_.width);
  // q k^T and a v: 4 T H D operations per token over the full map, half of it under the causal range, 3 for both
  // passes.
  double attention = 3.0 * 2.0 * static_cast<double>(T * sizes_.heads * sizes_.width_of_head() * sizes_.layers);
  return static_cast<double>(tokens) * (6 * in_products + attention);
}

}  // namespace sink
