#include "model/language_model.h"

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
  // q k^T and a v: 4 T C operations a token over the full map, half of it under the causal range, 3 for both passes.
  double attention = 3.0 * 2.0 * static_cast<double>(T * sizes_.width * sizes_.layers);
  return static_cast<double>(tokens) * (6 * in_products + attention);
}

}  // namespace sink
