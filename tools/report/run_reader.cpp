// Reads a run folder and checks everything the page later relies on, so that damage is found here and named.
#include "tools/report/run_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/check.h"
#include "engine/file.h"
#include "model/bounded_json.h"
#include "train/bounded_toml.h"

namespace sink::report {
namespace {

using nlohmann::json;
constexpr std::size_t kMostKeys = 256;  // of metrics.jsonl: each has a column as long as the run
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Where a value stands, for messages: the file and the key.
struct Place {
  std::string file;
  std::string key;
};

[[noreturn]] void damaged(const Place& at, const std::string& what) {
  fail("read_run_folder", at.file + ": " + (at.key.empty() ? "" : "\"" + at.key + "\": ") + what, Exit::bad_input);
}

double to_number(const json& value, const Place& at) {
  if (value.is_number()) return value.get<double>();
  if (value.is_null()) return kNaN;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (text == "nan" || text == "inf" || text == "-inf") return kNaN;
  }
  damaged(at, "expected a number or \"nan\", got " + std::string(value.type_name()));
}

Row to_row(const json& value, const Place& at) {
  if (!value.is_array()) damaged(at, "expected a list of numbers, got " + std::string(value.type_name()));
  Row row;
  row.reserve(value.size());
  for (const auto& item : value) row.push_back(to_number(item, at));
  return row;
}

Table to_table(const json& value, const Place& at) {
  if (!value.is_array()) damaged(at, "expected a list of rows, got " + std::string(value.type_name()));
  Table table;
  for (const auto& item : value) {
    table.push_back(to_row(item, at));
    if (table.back().size() != table.front().size())
      damaged(at, "rows differ in length: " + std::to_string(table.front().size()) + " and " +
                      std::to_string(table.back().size()));
  }
  return table;
}

json parse_json(const std::string& text, const Place& at) {
  try {
    return parse_bounded_json<json>(text);
  } catch (const JsonFailure& failure) { damaged(at, failure.what()); }
}

// Typed look-ups in one JSON object; a missing key gives the default.
struct Reader {
  const json& object;
  std::string file;

  bool has(const char* key) const { return object.contains(key); }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!object[key].is_string()) damaged({file, key}, "expected a string");
    return object[key].get<std::string>();
  }
  std::int64_t integer(const char* key, std::int64_t otherwise) const {
    if (!has(key)) return otherwise;
    if (!object[key].is_number_integer() ||
        (object[key].is_number_unsigned() && object[key].get<std::uint64_t>() >> 63 != 0))
      damaged({file, key}, "expected a whole number");
    return object[key].get<std::int64_t>();
  }
  Row row(const char* key) const { return has(key) ? to_row(object[key], {file, key}) : Row(); }
  Table table(const char* key) const { return has(key) ? to_table(object[key], {file, key}) : Table(); }
};

AttentionMap to_map(const json& value, const std::string& file) {
  const Place at{file, "map"};
  if (!value.is_object()) damaged(at, "expected an object");
  const Reader read{value, file};
  AttentionMap map;
  map.layer = read.integer("layer", 0);
  map.head = read.integer("head", 0);
  map.weights = read.table("weights");
  for (const auto& token : value.value("tokens", json::array())) {
    if (!token.is_string()) damaged(at, "tokens must be strings");
    map.tokens.push_back(token.get<std::string>());
  }
  const std::size_t n = map.tokens.size();
  if (map.weights.size() != n || (n > 0 && map.weights[0].size() != n))
    damaged(at, "expected " + std::to_string(n) + " rows and columns of weights, one per token, got " +
                    std::to_string(map.weights.size()) + " rows");
  return map;
}

Evaluation to_evaluation(const json& object, const std::string& file) {
  const Reader read{object, file};
  Evaluation e;
  for (const char* key : {"val_loss", "alpha_1", "alpha_1_raw", "alpha_1_max", "row_mass", "first_value_norm_ratio"})
    if (read.has(key)) e.scalar[key] = to_number(object[key], {file, key});
  e.sink_epsilon = read.row("sink_epsilon");
  e.sink_1 = read.row("sink_1");
  e.sink_1_raw = read.row("sink_1_raw");
  if (e.sink_1.size() != e.sink_epsilon.size() || e.sink_1_raw.size() != e.sink_epsilon.size())
    damaged({file, "sink_1"}, "expected one value per sink_epsilon (" + std::to_string(e.sink_epsilon.size()) +
                                  "), got " + std::to_string(e.sink_1.size()) + " and (raw) " +
                                  std::to_string(e.sink_1_raw.size()));
  e.alpha_k = read.row("alpha_k");
  e.alpha_k_raw = read.row("alpha_k_raw");
  e.alpha_1_layer_head = read.table("alpha_1_layer_head");
  e.alpha_1_layer_head_raw = read.table("alpha_1_layer_head_raw");
  if (e.alpha_1_layer_head.size() != e.alpha_1_layer_head_raw.size() ||
      (!e.alpha_1_layer_head.empty() && e.alpha_1_layer_head[0].size() != e.alpha_1_layer_head_raw[0].size()))
    damaged({file, "alpha_1_layer_head_raw"}, "expected as many layers and heads as alpha_1_layer_head");
  e.hidden_norm = read.table("hidden_norm_layer_position");
  e.key_norm = read.table("key_norm_layer_position");
  e.value_norm = read.table("value_norm_layer_position");
  if (read.has("map") && !object["map"].is_null()) e.map = to_map(object["map"], file);
  return e;
}

Curves to_curves(const std::string& text, const std::string& file) {
  Curves curves{{"step", {}}};
  Row& step = curves["step"];
  std::size_t begin = 0;
  for (std::int64_t line = 1; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a run in progress is still writing its last line
    const std::string row_text = text.substr(begin, end - begin);
    begin = end + 1;
    const Place at{file + " line " + std::to_string(line), ""};
    const json object = parse_json(row_text, at);
    if (!object.is_object() || !object.contains("step")) damaged(at, "expected an object with a \"step\"");
    const double now = to_number(object["step"], at);
    while (!step.empty() && step.back() >= now)  // a resumed run repeats the steps after its checkpoint
      for (auto& [name, column] : curves) column.pop_back();
    for (const auto& [key, value] : object.items()) {
      if (key == "step" || value.is_boolean()) continue;
      Row& column = curves[key];
      if (curves.size() > kMostKeys) damaged(at, "expected at most " + std::to_string(kMostKeys) + " different keys");
      column.resize(step.size(), kNaN);  // a key that was not there before
      column.push_back(to_number(value, {at.file, key}));
    }
    step.push_back(now);
    for (auto& [name, column] : curves) column.resize(step.size(), kNaN);
  }
  return curves;
}

// Keys of the config.toml that identify a run before its evaluation exists.
void read_identity(const std::string& toml, const std::string& file, Run& run) {
  try {
    for (const auto& [name, value] : read_bounded_toml(toml, file, Exit::bad_input)) {
      if (name == "task") run.task = value;
      if (name == "seed") run.seed = std::stoll(value);
      if (name == "steps") run.steps = std::stoll(value);
      if (name == "context") run.context = std::stoll(value);
    }
  } catch (const Error&) { throw; } catch (const std::exception& error) {
    damaged({file, ""}, std::string("not a run's configuration: ") + error.what());
  }
}

// "softmax" of "position=Rotary ... attention=Softmax".
std::string attention_of(const Run& run) {
  std::istringstream words(run.policies);
  std::string word;
  while (words >> word) {
    if (word.rfind("attention=", 0) != 0) continue;
    std::string name = word.substr(10);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
  }
  return run.ablation.empty() ? run.name : run.ablation;
}

}  // namespace

double Evaluation::get(const std::string& name) const {
  const auto found = scalar.find(name);
  return found == scalar.end() ? kNaN : found->second;
}

double Evaluation::sink_at(double epsilon, bool raw) const {
  for (std::size_t i = 0; i < sink_epsilon.size(); ++i)
    if (std::abs(sink_epsilon[i] - epsilon) < 1e-9) return (raw ? sink_1_raw : sink_1)[i];
  return kNaN;
}

bool Run::rows_sum_to_one() const {
  if (!evaluation) return attention == "softmax";
  // Half a percent covers bf16 rounding of rows that sum to one by construction.
  return std::abs(evaluation->get("row_mass") - 1) < 5e-3 &&
         std::abs(evaluation->get("alpha_1") - evaluation->get("alpha_1_raw")) < 5e-3;
}

Run read_run_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path root(folder);
  std::error_code error;
  const bool is_folder = fs::is_directory(root, error);
  if (is_folder) fs::directory_iterator(root, error);
  if (is_folder ? !!error : error == std::errc::permission_denied)
    fail("read_run_folder", folder + " cannot be read: " + error.message(), Exit::bad_input);
  if (!is_folder) fail("read_run_folder", folder + " is not a folder", Exit::bad_input);
  const fs::path config = root / "config.toml", metrics = root / "metrics.jsonl", evaluation = root / "evaluation.json";
  if (!fs::exists(evaluation) && !(fs::exists(config) && fs::exists(metrics)))
    fail("read_run_folder",
         folder +
             " is not a run folder: expected evaluation.json, or config.toml and metrics.jsonl of a run in progress",
         Exit::bad_input);

  Run run;
  run.folder = folder;
  run.name = fs::absolute(root).lexically_normal().filename().string();
  if (run.name.empty()) run.name = fs::absolute(root).lexically_normal().parent_path().filename().string();
  if (fs::exists(metrics)) run.curves = to_curves(read_file("read_run_folder", metrics.string()), metrics.string());
  if (fs::exists(config)) {
    run.config_toml = read_file("read_run_folder", config.string());
    read_identity(run.config_toml, config.string(), run);
  }
  if (fs::exists(evaluation)) {
    const std::string file = evaluation.string();
    const json object = parse_json(read_file("read_run_folder", file), {file, ""});
    if (!object.is_object()) damaged({file, ""}, "expected an object");
    const Reader read{object, file};
    if (read.integer("schema", 0) != 1)
      damaged({file, "schema"}, "expected 1, got " + std::to_string(read.integer("schema", 0)));
    run.name = read.text("run", run.name);
    run.task = read.text("task", run.task);
    run.ablation = read.text("ablation", run.ablation);
    run.policies = read.text("policies", "");
    run.commit = read.text("commit", "");
    run.date = read.text("date", "");
    run.precision = read.text("precision", "");
    run.config_toml = read.text("config_toml", run.config_toml);
    run.seed = read.integer("seed", run.seed);
    run.step = read.integer("step", 0);
    run.steps = read.integer("steps", run.steps);
    run.tokens = read.integer("tokens", 0);
    run.parameters = read.integer("parameters", 0);
    run.sequences = read.integer("sequences", 0);
    run.context = read.integer("context", run.context);
    run.evaluation = to_evaluation(object, file);
  } else if (!run.curves["step"].empty()) {
    run.step = static_cast<std::int64_t>(run.curves["step"].back());
    const Row& tokens = run.curves["tokens"];
    if (!tokens.empty() && std::isfinite(tokens.back())) run.tokens = static_cast<std::int64_t>(tokens.back());
  }
  run.attention = attention_of(run);
  return run;
}

}  // namespace sink::report
