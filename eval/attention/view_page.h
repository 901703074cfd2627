// One self-contained page of all attention patterns of a text: eval_<ablation> view.
#pragma once

#include <string>
#include <vector>

#include "engine/io/output_kind.h"
#include "eval/attention/attention_output.h"

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

std::string view_page(const AttentionSummary& summary, const SummaryLabels& labels, const ViewMaps& maps);

OutputKind view_page_kind();

}  // namespace sink
