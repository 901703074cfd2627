// SweepResult as text: its JSON file and its line of the CSV.
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/io/bounded_json.h"
#include "tools/csv.h"
#include "tools/sweep/sweep_job.h"

namespace sink {
namespace {

using Json = nlohmann::ordered_json;

// JSON has neither NaN nor infinities; the same words as in metrics.jsonl.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

void read(const Json& json, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
    return;
  }
  std::string word = json.get<std::string>();
  value = word == "nan" ? std::numeric_limits<double>::quiet_NaN()
                        : (word == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
}
template <class T>
void read(const Json& json, T& value) {
  value = json.get<T>();
}

// Every field but the curve, in the order of the files: visit(name, value).
template <class Result, class Visit>
void for_each_field(Result& r, Visit&& visit) {
  visit("ablation", r.ablation);
  visit("seed", r.seed);
  visit("steps", r.steps);
  visit("loss", r.loss);
  visit("best_loss", r.best_loss);
  visit("entropy_floor", r.entropy_floor);
  visit("alpha_1", r.alpha_1);
  visit("alpha_1_raw", r.alpha_1_raw);
  visit("alpha_1_max", r.alpha_1_max);
  visit("sink_1", r.sink_1);
  visit("sink_1_raw", r.sink_1_raw);
  visit("has_star", r.has_star);
  visit("alpha_star", r.alpha_star);
  visit("alpha_star_raw", r.alpha_star_raw);
  visit("sink_star", r.sink_star);
  visit("row_mass", r.row_mass);
  visit("first_value_norm_ratio", r.first_value_norm_ratio);
  visit("skipped", r.skipped);
  visit("first_skipped", r.first_skipped);
  visit("given_up", r.given_up);
  visit("worst_loss", r.worst_loss);
  visit("worst_step", r.worst_step);
  visit("seconds", r.seconds);
  visit("commit", r.commit);
  visit("error", r.error);
  visit("settings", r.settings);
}

struct CsvLine {
  std::string names, values;
  void add(const std::string& name, const std::string& value) {
    const char* comma = names.empty() ? "" : ",";
    names += comma + name;
    values += comma + value;
  }
  void operator()(const char* name, const std::string& value) {
    if (std::string(name) == "settings") return;  // many lines, and the same for all but the seed
    add(name, csv_field(value));
  }
  void operator()(const char* name, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    add(name, text);
  }
  template <class Integer>
  void operator()(const char* name, Integer value) {
    add(name, std::to_string(value));
  }
};

}  // namespace

std::string to_json(const SweepResult& result) {
  Json json{{"schema", 1}};
  for_each_field(result, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      json[name] = number(value);
    else
      json[name] = value;
  });
  json["curve"] = Json::array();
  for (const SweepResult::Point& point : result.curve)
    json["curve"].push_back({{"step", point.step},
                             {"loss", number(point.loss)},
                             {"alpha_1", number(point.alpha_1)},
                             {"alpha_1_raw", number(point.alpha_1_raw)}});
  return json.dump(1) + "\n";
}

SweepResult sweep_result_from_json(const std::string& text, const std::string& where) {
  try {
    Json json = parse_bounded_json<Json>(text);
    SweepResult result;
    for_each_field(result, [&](const char* name, auto& value) { read(json.at(name), value); });
    for (const Json& entry : json.at("curve")) {
      SweepResult::Point point{};
      read(entry.at("step"), point.step);
      read(entry.at("loss"), point.loss);
      read(entry.at("alpha_1"), point.alpha_1);
      read(entry.at("alpha_1_raw"), point.alpha_1_raw);
      result.curve.push_back(point);
    }
    return result;
  } catch (const std::exception& error) {
    fail("sweep", where + " is not a result of a sweep (" + error.what() + "); remove it to have it made again",
         Exit::bad_input);
  }
}

std::string results_csv(const std::vector<SweepResult>& results) {
  std::string csv;
  for (const SweepResult& result : results) {
    CsvLine line;
    for_each_field(result, line);
    csv += (csv.empty() ? line.names + "\n" : "") + line.values + "\n";
  }
  return csv;
}

}  // namespace sink
