// The forward hooks that carry out an intervention.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "eval/interventions/intervention.h"
#include "model/forward_hooks.h"
#include "model/language_model.h"

namespace sink {

// Sums over sequences of values, by layer, token and key head, and of the outputs of heads.
class ValueSums final : public ForwardHooks {
 public:
  explicit ValueSums(std::int64_t extra_tokens) : extra_tokens_(extra_tokens) {}
  void attention(AttentionPoint& point) override;

  // (G, D) F64: the mean over all sequences and all tokens but these (from 1); zero if there are no others.
  Tensor mean(std::int64_t layer, const std::vector<std::int64_t>& tokens) const;
  // (H, D) F64: the mean output of each head, over all sequences and tokens.
  Tensor mean_output(std::int64_t layer) const;

 private:
  std::int64_t extra_tokens_, sequences_ = 0;
  std::map<std::int64_t, Tensor> sums_GTD_, outputs_HTD_;  // by layer with attention, F64
};

// The activations of another text, which `patch` puts in the place of those of the text that is measured.
struct SourceActivations final : ForwardHooks {
  std::map<std::int64_t, Tensor> heads_BHTD;  // by layer with attention; the extra tokens of the model come first
  std::vector<Tensor> residuals_BTC;          // [layer]; likewise

  SourceActivations(LanguageModel& model, const Tensor& tokens_1T) { model.logits(tokens_1T, {.hooks = this}); }
  void attention(AttentionPoint& point) override { heads_BHTD[point.layer] = point.o_BHTD.value().clone(); }
  void residual_post(std::int64_t, Residual& x) override { residuals_BTC.push_back(x.sum().value().clone()); }
};

// Whether it changes nothing but the outputs of heads.
bool is_of_head_outputs(const Intervention& intervention);

// For a batch of copies of the same sequences, one copy after another, each with its own intervention; several only
// where all of them are of head outputs. Null for an intervention that changes weights only. `values` are those of the
// unchanged model, for means; `source` is for `patch`, else null. They and the interventions must outlive the hooks.
std::unique_ptr<ForwardHooks> hooks_of(std::span<const Intervention> of_copies, std::int64_t extra_tokens,
                                       const ValueSums& values, const SourceActivations* source);

}  // namespace sink
