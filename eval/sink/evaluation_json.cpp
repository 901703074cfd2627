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

// JSON has no NaN; the same words as in metrics.jsonl.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char nine_digits[32];  // enough for any reader, and short
  std::snprintf(nine_digits, sizeof nine_digits, "%.9g", value);
  return std::strtod(nine_digits, nullptr);  // std::stod refuses numbers too small to be normal
}

Json list(const std::vector<double>& values) {
  Json array = Json::array();
  for (double value : values) array.push_back(number(value));
  return array;
}

Json table(const NumberTable& rows) {
  Json array = Json::array();
  for (const auto& row : rows) array.push_back(list(row));
  return array;
}

Json tables(const std::vector<NumberTable>& values) {
  Json array = Json::array();
  for (const NumberTable& value : values) array.push_back(table(value));
  return array;
}

// Sink_1 at every epsilon.
Json sink_1(const SinkScores& scores) {
  Json array = Json::array();
  for (const auto& sink_k : scores.sink_k) array.push_back(number(sink_k.front()));
  return array;
}

Json split(const Evaluation::Split& split) {
  return {{"dot", table(split.dot)}, {"norm_product", table(split.norm_product)}, {"cosine", table(split.cosine)}};
}

const char* name_of(Evaluation::Extra extra) {
  return extra == Evaluation::Extra::none ? "none" : extra == Evaluation::Extra::key ? "key" : "token";
}

// Scores of one kind of weights; `kind` ends the names.
void add_scores(Json& json, const SinkScores& scores, const std::string& kind) {
  json["sink_1" + kind] = sink_1(scores);
  json["alpha_1" + kind] = number(scores.alpha_1());
  json["alpha_k" + kind] = list(scores.alpha_k);
  json["sink_k" + kind] = list(scores.sink_k[kStudyEpsilon]);
  json["sink_k_epsilon" + kind] = table(scores.sink_k);
  json["alpha_1_layer_head" + kind] = table(scores.alpha_1_layer_head);
  json["alpha_layer_head_k" + kind] = tables(scores.alpha_layer_head_k);
  if (!scores.star) return;
  json["sink_star" + kind] = list(scores.star->sink);
  json["alpha_star" + kind] = number(scores.star->alpha);
  json["alpha_star_layer_head" + kind] = table(scores.star->alpha_layer_head);
}

void add_by_length(Json& json, const Evaluation::ByLength& sinks) {
  if (sinks.lengths.empty()) return;
  Json& table_of = json["by_length"] = {{"length", sinks.lengths}, {"epsilon", sinks.epsilons}};
  for (const auto& [kind, scores] : {std::pair("", &sinks.proxy), std::pair("_raw", &sinks.raw)})
    for (const SinkScores& at : *scores) {
      table_of[std::string("alpha_k") + kind].push_back(list(at.alpha_k));
      table_of[std::string("sink_k") + kind].push_back(table(at.sink_k));
      if (!at.star) continue;
      table_of[std::string("alpha_star") + kind].push_back(number(at.star->alpha));
      table_of[std::string("sink_star") + kind].push_back(list(at.star->sink));
    }
}

// The rows of a map, each up to its last weight that is not zero: causal maps take half of the room.
void append_map(const Tensor& map, std::string& text) {
  auto weights = view<double, 2>(map);
  for (std::int64_t i = 0; i < map.dim(0); ++i) {
    std::int64_t end = map.dim(1);
    while (end > 0 && weights(i, end - 1) == 0) --end;
    text += i > 0 ? ",[" : "[";
    for (std::int64_t j = 0; j < end; ++j) {
      char digits[32];
      double weight = weights(i, j);
      std::snprintf(digits, sizeof digits, std::isfinite(weight) ? "%s%.4g" : "%s\"%g\"", j > 0 ? "," : "", weight);
      text += digits;
    }
    text += ']';
  }
}

// On one line: a number per line would be many times as long.
std::string maps_of(const Evaluation::Maps& maps, const EvaluationContext& context) {
  Json tokens = Json::array();
  for (const auto& sequence : maps.tokens) {
    tokens.push_back(Json::array());
    for (std::int32_t id : sequence) tokens.back().push_back(id < 0 ? "<sink token>" : context.token_text(id));
  }
  Json about{{"layers", maps.layers},
             {"heads", maps.heads},
             {"extra_key", maps.extra_key},
             {"chosen", {{"sequence", 0}, {"layer", maps.layer}, {"head", maps.head}}},
             {"tokens", tokens}};
  std::string text = about.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.back() = ',';
  text += "\"weights\":[";
  for (std::size_t i = 0; i < maps.weights.size(); ++i) {
    std::size_t heads = static_cast<std::size_t>(maps.heads),
                maps_of_sequence = heads * static_cast<std::size_t>(maps.layers);
    if (i > 0) text += i % maps_of_sequence == 0 ? "]],[[" : i % heads == 0 ? "],[" : ",";
    if (i == 0) text += "[[";
    if (!maps.weights[i].defined()) {
      text += "null";
      continue;
    }
    text += '[';
    append_map(maps.weights[i], text);
    text += ']';
  }
  return text + "]]]}";
}

}  // namespace

namespace {

void add_data_use(Json& json, const EvaluationContext& c) {
  double in_data = 0;
  Json domains = Json::array();
  for (const DomainUse& domain : c.domains) {
    in_data += static_cast<double>(domain.tokens);
    domains.push_back({{"name", domain.name},
                       {"tokens", domain.tokens},
                       {"share", number(domain.share)},
                       {"epochs", number(domain.passes(static_cast<double>(c.tokens)))}});
  }
  if (in_data <= 0) return;
  json["epochs"] = number(static_cast<double>(c.tokens) / in_data);
  json["domains"] = domains;
}

}  // namespace

std::string evaluation_json(const Evaluation& e, const EvaluationContext& c) {
  Json json;
  json["schema"] = 1;
  json["run"] = c.run;
  json["task"] = c.task;
  json["ablation"] = c.ablation;
  json["policies"] = c.policies;
  json["seed"] = c.seed;
  json["step"] = c.step;
  json["steps"] = c.steps;
  json["tokens"] = c.tokens;
  json["parameters"] = c.parameters;
  json["commit"] = c.commit;
  json["date"] = utc_date();
  json["precision"] = c.precision;
  json["device"] = c.device;
  if (!c.machine.empty()) json["machine"] = c.machine;
  json["config_toml"] = c.config_toml;
  json["val_loss"] = number(e.loss);
  json["sequences"] = e.sequences;
  json["context"] = e.context;
  json["input"] = c.input;
  if (c.input.ends_with("random") || c.input.ends_with("repeated")) json["input_seed"] = c.input_seed;
  if (!c.positions.empty()) json["positions"] = c.positions;
  if (!c.data.empty()) json["data"] = c.data;
  if (!c.input_sha256.empty()) json["input_sha256"] = c.input_sha256;
  if (!c.data_sha256.empty()) json["data_sha256"] = c.data_sha256;
  if (!c.initial_sha256.empty()) json["initial_sha256"] = c.initial_sha256;
  add_data_use(json, c);
  json["extra"] = name_of(e.extra);
  json["sink_epsilon"] = kSinkEpsilons;
  add_scores(json, e.proxy, "");
  add_scores(json, e.raw, "_raw");
  add_by_length(json, e.by_length);
  json["alpha_1_max"] = number(e.alpha_1_max);
  json["row_mass"] = number(e.row_mass);
  json["entropy"] = number(e.entropy);
  json["row_mass_layer_head"] = table(e.row_mass_layer_head);
  json["entropy_layer_head"] = table(e.entropy_layer_head);
  if (e.extra == Evaluation::Extra::key) {
    json["extra_key_mass"] = number(e.extra_key_mass);
    json["extra_key_mass_layer_head"] = table(e.extra_key_mass_layer_head);
  }
  json["first_value_norm_ratio"] = number(e.first_value_norm_ratio);
  json["value_share"] = number(e.value_share);
  json["value_share_layer_head"] = table(e.value_share_layer_head);
  json["loss_position"] = list(e.loss_by_position);
  json["hidden_norm_layer_position"] = table(e.hidden_norm);
  json["key_norm_layer_position"] = table(e.key_norm);
  json["value_norm_layer_position"] = table(e.value_norm);
  json["hidden_kurtosis_layer_position"] = table(e.hidden_kurtosis);
  json["hidden_largest_layer_position"] = table(e.hidden_largest);
  json["massive_ratio_layer"] = list(e.massive_ratio);
  if (!e.hidden_before_norm_norm.empty()) {
    json["hidden_before_norm_layer_position"] = table(e.hidden_before_norm_norm);
    json["massive_ratio_before_norm_layer"] = list(e.massive_ratio_before_norm);
  }
  json["qk_first_key"] = split(e.first_key);
  json["qk_other_keys"] = split(e.other_keys);
  // Token texts may hold half a character: replaced, never refused.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  if (e.maps.weights.empty()) return text + "\n";
  text.resize(text.size() - 2);  // "\n}"
  return text + ",\n \"maps\": " + maps_of(e.maps, c) + "\n}\n";
}

}  // namespace sink
