// Interventions as what they do inside a pass.
#pragma once

#include <memory>

#include "eval/interventions/intervention.h"
#include "model/forward_hooks.h"

namespace sink {

// Sums of values over sequences, by layer, token, and head of keys: what a mean value is made of.
class ValueSums final : public ForwardHooks {
 public:
  explicit ValueSums(std::int64_t extra_tokens) : extra_tokens_(extra_tokens) {}
  void attention(AttentionPoint& point) override;

  // (G, D) F64: the mean over all sequences and all tokens but these, which count from 1; zero where there is no other.
  Tensor mean(std::int64_t layer, const std::vector<std::int64_t>& tokens) const;

 private:
  std::int64_t extra_tokens_, sequences_ = 0;
  std::vector<Tensor> sums_GTD_;  // [layer] F64
};

// What an intervention changes in a pass; null where it changes weights alone. `values` are those of a model as it is,
// read where a value becomes the mean; both it and the intervention must outlive the hooks.
std::unique_ptr<ForwardHooks> hooks_of(const Intervention& intervention, std::int64_t extra_tokens,
                                       const ValueSums& values);

}  // namespace sink
