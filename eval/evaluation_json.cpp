#include "eval/evaluation_json.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

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
  return std::stod([value] {  // nine digits: enough for any reader, and short
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return std::string(text);
  }());
}

Json list(const std::vector<double>& values) {
  Json array = Json::array();
  for (double value : values) array.push_back(number(value));
  return array;
}

Json table(const std::vector<std::vector<double>>& rows) {
  Json array = Json::array();
  for (const auto& row : rows) array.push_back(list(row));
  return array;
}

// Sink_1 at every epsilon.
Json sink_1(const SinkScores& scores) {
  Json array = Json::array();
  for (const auto& sink_k : scores.sink_k) array.push_back(number(sink_k.front()));
  return array;
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
  json["config_toml"] = c.config_toml;
  json["val_loss"] = number(e.loss);
  json["sequences"] = e.sequences;
  json["context"] = e.context;
  json["sink_epsilon"] = kSinkEpsilons;
  json["sink_1"] = sink_1(e.proxy);
  json["sink_1_raw"] = sink_1(e.raw);
  json["alpha_1"] = number(e.proxy.alpha_1());
  json["alpha_1_raw"] = number(e.raw.alpha_1());
  json["alpha_1_max"] = number(e.alpha_1_max);
  json["row_mass"] = number(e.row_mass);
  json["entropy"] = number(e.entropy);
  json["first_value_norm_ratio"] = number(e.first_value_norm_ratio);
  json["alpha_k"] = list(e.proxy.alpha_k);
  json["alpha_k_raw"] = list(e.raw.alpha_k);
  json["sink_k"] = list(e.proxy.sink_k[kStudyEpsilon]);
  json["sink_k_raw"] = list(e.raw.sink_k[kStudyEpsilon]);
  json["alpha_1_layer_head"] = table(e.proxy.alpha_1_layer_head);
  json["alpha_1_layer_head_raw"] = table(e.raw.alpha_1_layer_head);
  json["hidden_norm_layer_position"] = table(e.hidden_norm);
  json["key_norm_layer_position"] = table(e.key_norm);
  json["value_norm_layer_position"] = table(e.value_norm);
  if (!e.map.weights.empty()) {
    Json tokens = Json::array();
    for (std::int32_t id : e.map.tokens) tokens.push_back(c.token_text(id));
    json["map"] = {{"layer", e.map.layer}, {"head", e.map.head}, {"tokens", tokens}, {"weights", table(e.map.weights)}};
  }
  // Token texts may hold half a character: replaced, never refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sink
