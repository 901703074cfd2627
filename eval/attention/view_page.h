// One self-contained page of all attention patterns of a text: eval_<ablation> view.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/io/output_kind.h"
#include "eval/attention/attention_output.h"
#include "eval/lens/logit_lens.h"

namespace sink {

// Collects the patterns as they are computed. Every value is kept as one byte, 255 sqrt(weight), which is at most 0.004
// away from the weight. A long text is pooled into cells of `cell` x `cell` weights, so that a page stays below 20 MB:
// the value of a cell is the mean over its queries of the sum over its keys.
class ViewMaps {
 public:
  // For a text of T tokens and a model of these sizes.
  ViewMaps(const Sizes& sizes, std::int64_t T);
  void add(const Tensor& weights_TT);

  std::int64_t cell() const { return cell_; }
  bool is_square() const { return square_; }  // else only keys j <= i
  const std::vector<std::string>& base64_LH() const { return base64_LH_; }

 private:
  std::int64_t cell_;
  bool square_;  // a prefix lets queries see later keys
  std::vector<std::string> base64_LH_;
};

// What a page holds besides the summary.
class ViewContent final : public SummaryVisitor {
 public:
  // The logit lens is of the last `lens_tokens` tokens, or of all if there are fewer.
  ViewContent(const LanguageModel& model, std::int64_t T, std::int64_t lens_tokens)
      : model_(model), maps_(model.sizes(), T), lens_tokens_(std::min(T, lens_tokens)) {}

  void hidden_state(std::int64_t l, const Tensor& x_1PC) override;
  void pattern(const Tensor& weights_TT) override { maps_.add(weights_TT); }

  const ViewMaps& maps() const { return maps_; }
  // [l][n]: l as in hidden_norm_LT, n of the last tokens; empty without any.
  const std::vector<std::vector<Prediction>>& lens_LN() const { return lens_LN_; }

 private:
  const LanguageModel& model_;
  ViewMaps maps_;
  std::int64_t lens_tokens_;
  std::vector<std::vector<Prediction>> lens_LN_;
};

std::string view_page(const AttentionSummary& summary, const SummaryLabels& labels, const ViewContent& content);

OutputKind view_page_kind();

}  // namespace sink
