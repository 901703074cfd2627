#include "model/language_model.h"

#include "autograd/tape.h"

namespace sink {

double LanguageModel::training_flops(std::int64_t tokens, std::int64_t T) const {
  double in_products = static_cast<double>(tied_weights_);
  for (const auto& parameter : parameters_)
    if (parameter->info().role == ParameterRole::weight)
      in_products += static_cast<double>(parameter->segment().size());
  // q k^T and a v: 4 T H D operations per token over the full map, half of it under the causal range, 3 for both
  // passes.
  double attention = 3.0 * 2.0 * static_cast<double>(T * sizes_.heads * sizes_.width_of_head() * sizes_.layers);
  return static_cast<double>(tokens) * (6 * in_products + attention);
}

void LanguageModel::enter(std::int64_t section) const {
  if (!watch_) return;
  watch_->forward_begins(section);
  Tape::on_return([watch = watch_, section] { watch->backward_ends(section); });
}

void LanguageModel::leave(std::int64_t section) const {
  if (watch_) Tape::on_return([watch = watch_, section] { watch->backward_begins(section); });
}

}  // namespace sink
