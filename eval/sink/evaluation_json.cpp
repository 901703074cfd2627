#include "eval/sink/evaluation_json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/io/str_format.h"
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
  return std::strtod(str_format("%.9g", value).c_str(), nullptr);  // std::stod throws for subnormal values
}
template <class T>
Json rounded(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(rounded(value));
  return array;
}

// The measures; `about` gets unit and axes of each key.
void add_measures(Json& json, const Evaluation& e, Json& about) {
  for_each_measure(e, [&](const Measure& measure, bool raw, const double* scalar, auto values) {
    const auto add = [&](const std::string& key, const auto& value) {
      std::string path = "/" + key;
      std::ranges::replace(path, '.', '/');
      json[Json::json_pointer(path)] = rounded(value);
      Json axes = Json::array();
      std::istringstream names{std::string(measure.axes.names)};
      if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, double>)
        for (std::string axis; names >> axis;) axes.push_back(axis);
      about[key] = {{"unit", measure.unit}, {"axes", axes}};
    };
    if (!is_known(measure, scalar, values)) return;
    if (scalar) add(key_of(measure, raw, false), *scalar);
    if constexpr (!std::is_null_pointer_v<decltype(values)>) add(key_of(measure, raw, true), *values);
  });
}

void add_by_length(Json& json, const Evaluation::ByLength& sinks) {
  if (sinks.lengths.empty()) return;
  Json& by_length = json["by_length"] = {{"length", sinks.lengths}, {"epsilon", sinks.epsilons}};
  for (const auto& [suffix, scores] : {std::pair("", &sinks.proxy), std::pair("_raw", &sinks.raw)})
    for (const SinkScores& at : *scores) {
      by_length[std::string("alpha_k") + suffix].push_back(rounded(at.alpha_k));
      by_length[std::string("sink_k") + suffix].push_back(rounded(at.sink_k_epsilon));
      if (!at.has_star()) continue;
      by_length[std::string("alpha_star") + suffix].push_back(rounded(at.alpha_star));
      by_length[std::string("sink_star") + suffix].push_back(rounded(at.sink_star));
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
  json.update({{"config_toml", c.config_toml}, {"sequences", e.sequences}, {"context", e.context}, {"input", c.input}});
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
  Json json, about;
  add_context(json, e, c);
  json["extra"] = kExtraNames[static_cast<std::size_t>(e.extra)];
  json["sink_epsilon"] = e.sink_epsilon;
  json["first_key_rows"] = e.first_key_rows;
  if (!e.attention_layers.empty()) json["attention_layers"] = e.attention_layers;
  add_measures(json, e, about);
  add_by_length(json, e.by_length);
  // Token texts can end inside a character: replaced instead of refused.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // "\n}"
  text += ",\n \"measures\": " + about.dump();
  if (!e.patterns.weights.empty()) text += ",\n \"maps\": " + patterns_json(e.patterns, c);
  return text + "\n}\n";
}

}  // namespace sink
