#include "eval/sink/evaluation_json.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/tensor_view.h"

namespace sink {
namespace {

using Json = nlohmann::ordered_json;

std::string utc_date() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// Nine digits, which identify an f32. JSON has no NaN: the same words as in metrics.jsonl.
Json rounded(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return std::strtod(digits, nullptr);  // std::stod throws for subnormal values
}
template <class T>
Json rounded(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(rounded(value));
  return array;
}
Json rounded(const Evaluation::Split& split) {
  return {
      {"dot", rounded(split.dot)}, {"norm_product", rounded(split.norm_product)}, {"cosine", rounded(split.cosine)}};
}

const char* name_of(Evaluation::Extra extra) {
  return extra == Evaluation::Extra::none ? "none" : extra == Evaluation::Extra::key ? "key" : "token";
}

// Scores of one kind of weights; `suffix` ends the keys.
void add_scores(Json& json, const SinkScores& scores, const std::string& suffix) {
  std::vector<double> sink_1;
  for (const auto& sink_k : scores.sink_k) sink_1.push_back(sink_k.front());
  json["sink_1" + suffix] = rounded(sink_1);
  json["alpha_1" + suffix] = rounded(scores.alpha_1());
  json["alpha_k" + suffix] = rounded(scores.alpha_k);
  json["sink_k" + suffix] = rounded(scores.sink_k[kPaperEpsilonIndex]);
  json["sink_k_epsilon" + suffix] = rounded(scores.sink_k);
  json["alpha_1_layer_head" + suffix] = rounded(scores.alpha_1_layer_head);
  json["alpha_layer_head_k" + suffix] = rounded(scores.alpha_layer_head_k);
  if (!scores.star) return;
  json["sink_star" + suffix] = rounded(scores.star->sink);
  json["alpha_star" + suffix] = rounded(scores.star->alpha);
  json["alpha_star_layer_head" + suffix] = rounded(scores.star->alpha_layer_head);
}

void add_by_length(Json& json, const Evaluation::ByLength& sinks) {
  if (sinks.lengths.empty()) return;
  Json& by_length = json["by_length"] = {{"length", sinks.lengths}, {"epsilon", sinks.epsilons}};
  for (const auto& [suffix, scores] : {std::pair("", &sinks.proxy), std::pair("_raw", &sinks.raw)})
    for (const SinkScores& at : *scores) {
      by_length[std::string("alpha_k") + suffix].push_back(rounded(at.alpha_k));
      by_length[std::string("sink_k") + suffix].push_back(rounded(at.sink_k));
      if (!at.star) continue;
      by_length[std::string("alpha_star") + suffix].push_back(rounded(at.star->alpha));
      by_length[std::string("sink_star") + suffix].push_back(rounded(at.star->sink));
    }
}

// Rows of a pattern, each up to its last nonzero weight, which halves causal patterns.
void append_pattern(const Tensor& pattern, std::string& text) {
  auto weights = view<double, 2>(pattern);
  for (std::int64_t i = 0; i < pattern.dim(0); ++i) {
    std::int64_t end = pattern.dim(1);
    while (end > 0 && weights(i, end - 1) == 0) --end;
    text += i > 0 ? ",[" : "[";
    for (std::int64_t j = 0; j < end; ++j) {
      char digits[32];
      double weight = weights(i, j);
      if (std::isnan(weight)) weight = std::abs(weight);  // "-nan" is no word of our files
      std::snprintf(digits, sizeof digits, std::isfinite(weight) ? "%s%.4g" : "%s\"%g\"", j > 0 ? "," : "", weight);
      text += digits;
    }
    text += ']';
  }
}

// On one line: a line for each number would be many times as long.
std::string patterns_json(const Evaluation::Patterns& patterns, const EvaluationContext& context) {
  Json tokens = Json::array();
  for (const auto& sequence : patterns.tokens) {
    tokens.push_back(Json::array());
    for (std::int32_t id : sequence) tokens.back().push_back(id < 0 ? "<sink token>" : context.token_text(id));
  }
  Json about{{"layers", patterns.layers},
             {"heads", patterns.heads},
             {"extra_key", patterns.extra_key},
             {"chosen", {{"sequence", 0}, {"layer", patterns.layer}, {"head", patterns.head}}},
             {"tokens", tokens}};
  std::string text = about.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.back() = ',';
  text += "\"weights\":[";
  const auto heads = static_cast<std::size_t>(patterns.heads), layers = static_cast<std::size_t>(patterns.layers);
  for (std::size_t i = 0; i < patterns.weights.size(); ++i) {
    text += i == 0 ? "[[" : i % (layers * heads) == 0 ? "]],[[" : i % heads == 0 ? "],[" : ",";
    if (!patterns.weights[i].defined()) {
      text += "null";
      continue;
    }
    text += '[';
    append_pattern(patterns.weights[i], text);
    text += ']';
  }
  return text + "]]]}";
}

void add_data_use(Json& json, const EvaluationContext& c) {
  double in_data = 0;
  Json domains = Json::array();
  for (const DomainUse& domain : c.domains) {
    in_data += static_cast<double>(domain.tokens);
    domains.push_back({{"name", domain.name},
                       {"tokens", domain.tokens},
                       {"share", rounded(domain.share)},
                       {"epochs", rounded(domain.passes(static_cast<double>(c.tokens)))}});
  }
  if (in_data <= 0) return;
  json["epochs"] = rounded(static_cast<double>(c.tokens) / in_data);
  json["domains"] = domains;
}

// The run, the model and the input.
void add_context(Json& json, const Evaluation& e, const EvaluationContext& c) {
  json = {{"schema", 1},
          {"run", c.run},
          {"task", c.task},
          {"ablation", c.ablation},
          {"policies", c.policies},
          {"seed", c.seed},
          {"step", c.step},
          {"steps", c.steps},
          {"tokens", c.tokens},
          {"parameters", c.parameters},
          {"commit", c.commit},
          {"date", utc_date()},
          {"precision", c.precision},
          {"device", c.device}};
  auto add_if_known = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  add_if_known("machine", c.machine);
  if (c.ranks > 1) json["ranks"] = c.ranks;
  json.update({{"config_toml", c.config_toml},
               {"val_loss", rounded(e.loss)},
               {"sequences", e.sequences},
               {"context", e.context},
               {"input", c.input}});
  if (c.input.ends_with("random") || c.input.ends_with("repeated")) json["input_seed"] = c.input_seed;
  add_if_known("positions", c.positions);
  add_if_known("data", c.data);
  add_if_known("measured_data_sha256", c.measured_data_sha256);
  add_if_known("input_sha256", c.input_sha256);
  add_if_known("data_sha256", c.data_sha256);
  add_if_known("initial_sha256", c.initial_sha256);
  add_data_use(json, c);
}

}  // namespace

std::string evaluation_json(const Evaluation& e, const EvaluationContext& c) {
  Json json;
  add_context(json, e, c);
  json["extra"] = name_of(e.extra);
  json["sink_epsilon"] = kSinkEpsilons;
  json["first_key_rows"] = e.first_key_rows;
  add_scores(json, e.proxy, "");
  add_scores(json, e.raw, "_raw");
  add_by_length(json, e.by_length);
  json["alpha_1_max"] = rounded(e.alpha_1_max);
  if (e.fixed)
    json.update({{"alpha_fixed", rounded(e.fixed->alpha)}, {"alpha_fixed_over_even", rounded(e.fixed->over_even)}});
  json["row_mass"] = rounded(e.row_sum);
  json["entropy"] = rounded(e.entropy);
  json["row_mass_layer_head"] = rounded(e.row_sum_layer_head);
  json["entropy_layer_head"] = rounded(e.entropy_layer_head);
  if (e.extra == Evaluation::Extra::key) {
    json["extra_key_mass"] = rounded(e.extra_key_weight);
    json["extra_key_mass_layer_head"] = rounded(e.extra_key_weight_layer_head);
  }
  json["first_value_norm_ratio"] = rounded(e.first_value_norm_ratio);
  json["value_share"] = rounded(e.value_share);
  json["value_share_layer_head"] = rounded(e.value_share_layer_head);
  json["loss_position"] = rounded(e.loss_by_position);
  json["hidden_norm_layer_position"] = rounded(e.hidden_norm);
  json["key_norm_layer_position"] = rounded(e.key_norm);
  json["value_norm_layer_position"] = rounded(e.value_norm);
  json["hidden_kurtosis_layer_position"] = rounded(e.hidden_kurtosis);
  json["hidden_largest_layer_position"] = rounded(e.hidden_largest);
  json["massive_ratio_layer"] = rounded(e.massive_ratio);
  if (!e.hidden_before_norm_norm.empty()) {
    json["hidden_before_norm_layer_position"] = rounded(e.hidden_before_norm_norm);
    json["massive_ratio_before_norm_layer"] = rounded(e.massive_ratio_before_norm);
  }
  json["qk_first_key"] = rounded(e.first_key);
  json["qk_other_keys"] = rounded(e.other_keys);
  // Token texts can end inside a character: replaced instead of refused.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  if (e.patterns.weights.empty()) return text + "\n";
  text.resize(text.size() - 2);  // "\n}"
  return text + ",\n \"maps\": " + patterns_json(e.patterns, c) + "\n}\n";
}

}  // namespace sink
