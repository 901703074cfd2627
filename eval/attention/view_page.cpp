#include "eval/attention/view_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/io/html.h"
#include "engine/tensor_view.h"
#include "eval/explain/page_file.h"

namespace sink {
namespace {

constexpr std::int64_t kMostBytes = 14000000;  // of all patterns, before base64
constexpr std::int64_t kThumbnail = 64;        // cells across a small map
constexpr double kMostError = 0.05;            // of a computed weight

// {"words": the predicted tokens, "cells": [l][n] of [index of the word, probability]}
nlohmann::json lens_json(const std::vector<std::vector<Prediction>>& lens_LN, const SummaryLabels& labels) {
  nlohmann::json words = nlohmann::json::array(), cells = nlohmann::json::array();
  std::map<std::int32_t, std::size_t> index_of;
  for (const std::vector<Prediction>& layer : lens_LN) {
    nlohmann::json row = nlohmann::json::array();
    for (const Prediction& best : layer) {
      const auto [place, is_new] = index_of.emplace(best.token, words.size());
      if (is_new) words.push_back(labels.token_text(best.token));
      row.push_back({place->second, best.probability});
    }
    cells.push_back(row);
  }
  return {{"words", words}, {"cells", cells}};
}

}  // namespace

ViewMaps::ViewMaps(const Sizes& sizes, std::int64_t T, std::int64_t across) : cell_(1), square_(sizes.prefix > 1) {
  auto fits = [&] {
    const std::int64_t n = (T + cell_ - 1) / cell_;
    return n <= across && sizes.layers * sizes.heads * (square_ ? n * n : n * (n + 1) / 2) <= kMostBytes;
  };
  while (!fits()) cell_ *= 2;
}

void ViewMaps::add(const Tensor& weights_TT) {
  const auto p = view<double, 2>(weights_TT);
  const std::size_t T = p.shape(0), cell = static_cast<std::size_t>(cell_), n = (T + cell - 1) / cell;
  std::string bytes;
  for (std::size_t row = 0; row < n; ++row) {
    const std::size_t end = std::min(T, (row + 1) * cell);
    for (std::size_t column = 0; column < (square_ ? n : row + 1); ++column) {
      double sum = 0;
      for (std::size_t i = row * cell; i < end; ++i)
        for (std::size_t j = column * cell; j < std::min(T, (column + 1) * cell); ++j) sum += p(i, j);
      const double weight = std::clamp(sum / static_cast<double>(end - row * cell), 0.0, 1.0);
      bytes += static_cast<char>(std::lround(255 * std::sqrt(weight)));
    }
  }
  base64_LH_.push_back(base64(bytes));
}

ViewContent::ViewContent(const LanguageModel& model, std::int64_t T, const ViewOptions& options)
    : model_(model), options_(options), maps_(model.sizes(), T), thumbnails_(model.sizes(), T, kThumbnail) {
  options_.lens_tokens = std::min(T, options.lens_tokens);
  if (options.patterns == ViewPatterns::computed || (options.patterns == ViewPatterns::automatic && maps_.cell() > 1))
    queries_keys_.emplace(model.sizes(), T, model.extra_tokens());
  if (options.patterns == ViewPatterns::computed) require_computed();
}

void ViewContent::require_computed() const {
  if (!queries_keys_->why_not().empty())
    throw Error(
        std::string("--patterns computed cannot be used with ") + queries_keys_->why_not() + "; use --patterns stored",
        Exit::usage);
}

bool ViewContent::computes() const {
  if (options_.patterns == ViewPatterns::computed) return true;
  return queries_keys_ && queries_keys_->why_not().empty() && queries_keys_->largest_error() <= kMostError;
}

void ViewContent::attention(const AttentionPoint& point) {
  if (!queries_keys_) return;
  queries_keys_->attention(point);
  if (options_.patterns == ViewPatterns::computed) require_computed();
}

void ViewContent::pattern(const Tensor& weights_TT) {
  if (options_.patterns != ViewPatterns::computed) maps_.add(weights_TT);
  if (!queries_keys_) return;
  thumbnails_.add(weights_TT);
  queries_keys_->check(weights_TT);
}

void ViewContent::hidden_state(std::int64_t, const Tensor& x_1PC) {
  if (options_.lens_tokens == 0) return;
  const std::int64_t P = x_1PC.dim(1), C = x_1PC.dim(2);
  lens_LN_.push_back(
      lens_predictions(model_, x_1PC.slice((P - options_.lens_tokens) * C, {1, options_.lens_tokens, C}).clone()));
}

nlohmann::json page_data(const AttentionSummary& summary, const SummaryLabels& labels) {
  using json = nlohmann::json;
  const bool extra = summary.extra != Evaluation::Extra::none;
  json alpha = json::array(), star = json::array(), self = json::array(), texts = json::array(), sinks = json::array();
  double row_sum = 0;
  json attention = json::array();  // the layers that have it
  for (const HeadSummary& head : summary.head_LH) {
    if (head.head == 0) attention.push_back(head.layer);
    alpha.push_back(head.alpha_1());
    star.push_back(head.alpha_star);
    self.push_back(head.self);
    row_sum += head.row_sum / static_cast<double>(summary.head_LH.size());
  }
  for (std::int32_t id : summary.tokens_T) texts.push_back(labels.token_text(id));
  for (const SecondarySink& sink : secondary_sinks(summary)) sinks.push_back({sink.position - 1, sink.heads});
  json of_layers;  // where they differ, of layers with a window and others
  if (std::ranges::any_of(summary.even_alpha_1_L, [&](double x) { return x != summary.even_alpha_1_L.front(); }))
    of_layers = {{"even_layer", summary.even_alpha_1_L}};
  json data = {{"layers", summary.layers},
               {"heads", summary.heads},
               {"attention", attention},
               {"tokens", texts},
               {"alpha", alpha},
               {"star", extra ? star : json()},
               {"self", self},
               {"sinks", sinks},
               {"even", summary.even_alpha_1},
               {"row_sum", row_sum}};
  data.update(of_layers.is_null() ? json::object() : of_layers);
  return data;
}

std::string view_page(const AttentionSummary& summary, const SummaryLabels& labels, const ViewContent& content) {
  const ViewMaps& maps = content.maps();  // small ones, if the page computes the patterns
  nlohmann::json data = page_data(summary, labels);
  data["cell"] = maps.cell();
  data["square"] = maps.is_square();
  data["maps"] = maps.base64_LH();
  data["hidden"] = summary.hidden_norm_LT;
  data["value"] = summary.value_norm_LT;
  data["computed"] = content.queries_keys() ? content.queries_keys()->json() : nlohmann::json();
  data["lens"] = lens_json(content.lens_LN(), labels);
  return fill(eval_file("view.html"), {{"model", escape(labels.model)},
                                       {"summary", escape(attention_table(summary, labels))},
                                       {"style", eval_file("view.css")},
                                       {"data", script_json(data, 5)},
                                       {"weights_script", eval_file("view_weights.js")},
                                       {"script", eval_file("view.js")}});
}

OutputKind view_page_kind() {
  return kind_by_text("a page of eval_<ablation> view", "<!doctype html>", {"content=\"Sinklab view\""});
}

}  // namespace sink
