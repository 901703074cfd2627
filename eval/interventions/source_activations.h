// The activations of another text, which `patch` puts in the place of those of the text that is measured.
#pragma once

#include <vector>

#include "model/forward_hooks.h"
#include "model/language_model.h"

namespace sink {

class SourceActivations final : public ForwardHooks {
 public:
  // Runs the model on tokens_BT, one sequence.
  SourceActivations(LanguageModel& model, const Tensor& tokens_BT);
  void attention(AttentionPoint& point) override;
  void residual_post(std::int64_t layer, Residual& x) override;

  std::int64_t tokens() const { return tokens_; }  // without the extra tokens of the model
  // Positions include the extra tokens, which come first.
  const Tensor& head_outputs_BHTD(std::int64_t layer) const { return heads_[static_cast<std::size_t>(layer)]; }
  const Tensor& residual_BTC(std::int64_t layer) const { return residuals_[static_cast<std::size_t>(layer)]; }

 private:
  std::int64_t tokens_;
  std::vector<Tensor> heads_, residuals_;  // [layer]
};

}  // namespace sink
