// The forward hooks that carry out an intervention.
#pragma once

#include <memory>

#include "eval/interventions/intervention.h"
#include "model/forward_hooks.h"

namespace sink {

// Sums of values over sequences, by layer, token, and key head.
class ValueSums final : public ForwardHooks {
 public:
  explicit ValueSums(std::int64_t extra_tokens) : extra_tokens_(extra_tokens) {}
  void attention(AttentionPoint& point) override;

  // (G, D) F64: the mean over all sequences and all tokens but these (from 1); zero if there are no others.
  Tensor mean(std::int64_t layer, const std::vector<std::int64_t>& tokens) const;

 private:
  std::int64_t extra_tokens_, sequences_ = 0;
  std::vector<Tensor> sums_GTD_;  // [layer] F64
};

// Null for an intervention that changes weights only. `values` are those of the unchanged model, for mean values; they
// and the intervention must outlive the hooks.
std::unique_ptr<ForwardHooks> hooks_of(const Intervention& intervention, std::int64_t extra_tokens,
                                       const ValueSums& values);

}  // namespace sink
