#include "eval/interventions/source_activations.h"

namespace sink {

SourceActivations::SourceActivations(LanguageModel& model, const Tensor& tokens_BT) : tokens_(tokens_BT.dim(1)) {
  model.logits(tokens_BT, {.hooks = this});
}

void SourceActivations::attention(AttentionPoint& point) { heads_.push_back(point.o_BHTD.value().clone()); }

void SourceActivations::residual_post(std::int64_t, Residual& x) { residuals_.push_back(x.sum().value().clone()); }

}  // namespace sink
