// One self-contained page of all attention patterns of a text: eval_<ablation> view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/io/output_kind.h"
#include "eval/attention/attention_output.h"
#include "eval/attention/view_queries_keys.h"
#include "eval/lens/logit_lens.h"

namespace sink {

// Collects the patterns as they are computed. Every value is kept as one byte, 255 sqrt(weight), which is at most 0.004
// away from the weight. A long text is pooled into cells of `cell` x `cell` weights, so that a page stays below 20 MB:
// the value of a cell is the mean over its queries of the sum over its keys.
class ViewMaps {
 public:
  // For a text of T tokens and a model of these sizes, with at most `across` cells in a row.
  ViewMaps(const Sizes& sizes, std::int64_t T, std::int64_t across = kLongestPatterns);
  void add(const Tensor& weights_TT);

  std::int64_t cell() const { return cell_; }
  bool is_square() const { return square_; }  // else only keys j <= i
  const std::vector<std::string>& base64_LH() const { return base64_LH_; }

 private:
  std::int64_t cell_;
  bool square_;  // a prefix lets queries see later keys
  std::vector<std::string> base64_LH_;
};

// Whether a page stores its patterns, computes them from queries and keys, or pools them all and computes windows of a
// few (long_view.h). automatic: windows for texts above kLongestPatterns; of others it computes patterns that would
// have to be pooled, if it can do so with an error of at most 0.05.
enum class ViewPatterns { automatic, stored, computed, windows };

struct ViewOptions {
  ViewPatterns patterns = ViewPatterns::automatic;
  std::int64_t lens_tokens = 32;  // the logit lens is of the last tokens
};

// What a page holds besides the summary.
class ViewContent final : public SummaryVisitor {
 public:
  // Throws Error (Exit::usage), here or later, if patterns are to be computed and cannot be.
  ViewContent(const LanguageModel& model, std::int64_t T, const ViewOptions& options);

  void hidden_state(std::int64_t l, const Tensor& x_1PC) override;
  void attention(const AttentionPoint& point) override;
  void pattern(const Tensor& weights_TT) override;

  // Null if the page stores its patterns.
  const ViewQueriesKeys* queries_keys() const { return computes() ? &*queries_keys_ : nullptr; }
  // The patterns, or small pictures of those that are computed.
  const ViewMaps& maps() const { return computes() ? thumbnails_ : maps_; }
  // [l][n]: l as in hidden_norm_LT, n of the last tokens; empty without any.
  const std::vector<std::vector<Prediction>>& lens_LN() const { return lens_LN_; }

 private:
  bool computes() const;
  void require_computed() const;

  const LanguageModel& model_;
  ViewOptions options_;
  ViewMaps maps_, thumbnails_;
  std::optional<ViewQueriesKeys> queries_keys_;
  std::vector<std::vector<Prediction>> lens_LN_;
};

// What pages have of a summary.
nlohmann::json page_data(const AttentionSummary& summary, const SummaryLabels& labels);

std::string view_page(const AttentionSummary& summary, const SummaryLabels& labels, const ViewContent& content);

OutputKind view_page_kind();

// The page of a run in its folder.
inline constexpr const char* kRunViewPage = "view.html";

}  // namespace sink
