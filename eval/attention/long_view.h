// The page of a text that is too long for all its patterns: what every key receives in each layer, small pooled
// pictures of all heads, and weights at full resolution of a few heads, which the page computes from queries and keys.
// Memory is linear in the length of the text.
#pragma once

#include <string>
#include <vector>

#include "eval/attention/attention_output.h"
#include "eval/attention/full_heads.h"

namespace sink {

class LongView final : public SummaryVisitor {
 public:
  // `asked` as in FullHeads. Throws Error (Exit::usage) for a model with sink tokens.
  LongView(const LanguageModel& model, std::int64_t T, std::vector<LayerHead> asked);

  bool needs_patterns() const override { return false; }
  // Throws Error (Exit::bad_input) if the pooled weights are not those of the summary: of weights of both signs.
  void heads(const AttentionPoint& point, std::span<const HeadSummary> head_H) override;

  std::string page(const AttentionSummary& summary, const SummaryLabels& labels) const;
  // A line for a terminal: which heads are shown in full.
  std::string note() const;

 private:
  const Sizes& sizes_;
  std::int64_t T_, cell_ = 0;
  FullHeads full_;
  std::vector<std::string> maps_LH_;      // as ViewMaps has them
  std::vector<std::string> received_LT_;  // base64 of U16: 65535 sqrt(share of the layer's attention that a key gets)
};

}  // namespace sink
