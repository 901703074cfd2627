#include "eval/attention/long_view.h"

#include <algorithm>
#include <cmath>

#include "engine/io/html.h"
#include "engine/io/str_format.h"
#include "eval/attention/pooled_attention.h"
#include "eval/attention/view_page.h"
#include "eval/attention/view_queries_keys.h"
#include "eval/explain/page_file.h"

namespace sink {
namespace {

// Two ways to the sums of the keys of each block: of the pooled weights, and of what a summary has.
void require_same_sums(const Tensor& weights_XX, const HeadSummary& head, std::int64_t cell) {
  const std::int64_t X = weights_XX.dim(0), T = static_cast<std::int64_t>(head.share_T.size());
  for (std::int64_t y = 0; y < X; ++y) {
    double pooled = 0, sum = 0;
    for (std::int64_t x = 0; x < X; ++x)
      pooled += weights_XX.item(x * X + y) * static_cast<double>(std::min(cell, T - x * cell));
    for (std::int64_t t = y * cell; t < std::min(T, (y + 1) * cell); ++t)
      sum += head.share_T[static_cast<std::size_t>(t)] * static_cast<double>(T);
    if (!(std::abs(pooled - sum) <= 0.01 * sum + 0.01))
      throw Error("a page of a long text needs weights of one sign, and those of layer " + std::to_string(head.layer) +
                      " have both; give a text of at most " + std::to_string(kLongestPatterns) + " tokens",
                  Exit::bad_input);
  }
}

}  // namespace

LongView::LongView(const LanguageModel& model, std::int64_t T, std::vector<LayerHead> asked)
    : sizes_(model.sizes()), T_(T), full_(model.sizes(), T, std::move(asked)) {
  if (model.extra_tokens() > 0)
    throw Error("a page of a long text cannot be of a model with a sink token; give a text of at most " +
                    std::to_string(kLongestPatterns) + " tokens",
                Exit::usage);
}

void LongView::heads(const AttentionPoint& point, std::span<const HeadSummary> head_H) {
  cell_ = pooling_cell(point);
  const PooledAttention pooled = pooled_attention(point, cell_);
  ViewMaps maps(sizes_, pooled.weights_HXX.front().dim(0));
  std::vector<std::uint16_t> received_T(static_cast<std::size_t>(T_));
  for (std::size_t h = 0; h < head_H.size(); ++h) {
    require_same_sums(pooled.weights_HXX[h], head_H[h], cell_);
    maps.add(pooled.weights_HXX[h]);
  }
  for (std::size_t t = 0; t < received_T.size(); ++t) {
    double share = 0;
    for (const HeadSummary& head : head_H) share += head.share_T[t] / static_cast<double>(head_H.size());
    received_T[t] = static_cast<std::uint16_t>(std::lround(65535 * std::sqrt(std::clamp(share, 0.0, 1.0))));
  }
  received_LT_.push_back(base64(bytes_of(received_T)));
  maps_LH_.insert(maps_LH_.end(), maps.base64_LH().begin(), maps.base64_LH().end());
  full_.add(point, head_H, pooled.share_HT);
}

std::string LongView::page(const AttentionSummary& summary, const SummaryLabels& labels) const {
  nlohmann::json data = page_data(summary, labels);
  data["cell"] = cell_;
  data["square"] = sizes_.prefix > 1;
  data["maps"] = maps_LH_;
  data["received"] = received_LT_;
  data["full"] = full_.json();
  return fill(eval_file("long_view.html"), {{"model", escape(labels.model)},
                                            {"summary", escape(attention_table(summary, labels))},
                                            {"style", eval_file("view.css") + eval_file("long_view.css")},
                                            {"data", script_json(std::move(data), 5)},
                                            {"weights_script", eval_file("long_view_weights.js")},
                                            {"script", eval_file("long_view.js")}});
}

std::string LongView::note() const {
  const nlohmann::json full = full_.json();
  if (full["heads"].empty()) return "All heads are shown pooled only: " + full["why_not"].get<std::string>() + ".\n";
  std::string names;
  double error = 0;
  for (const nlohmann::json& head : full["heads"]) {
    names += (names.empty() ? "" : ", ") + std::to_string(head["layer"].get<int>()) + "." +
             std::to_string(head["head"].get<int>());
    error = std::max(error, head["error"].get<double>());
  }
  const double bound = std::ceil(1000 * error) / 10;  // percent, rounded up
  return "In full: " + names + str_format("; each weight is within %.1f %% of its exact value.\n", bound);
}

}  // namespace sink
