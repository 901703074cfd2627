// Reads a run folder or a measurement, and decides what of it are the numbers of a finished run.
#include "tools/report/run_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/settings_toml.h"
#include "tools/report/evaluation_reader.h"
#include "tools/report/interventions_reader.h"
#include "tools/report/json_input.h"
#include "train/run_config_table.h"

namespace sink::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr std::size_t kMostKeys = 256;              // of metrics.jsonl: each has a column as long as the run
constexpr std::int64_t kMostSteps = 1'000'000'000;  // of a run

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
    const std::int64_t whole = Reader{object, at.file}.integer("step", 0);
    if (whole < 0 || whole > kMostSteps) damaged(at, "expected a step from 0 to " + std::to_string(kMostSteps));
    const double now = static_cast<double>(whole);
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

// What a config.toml says, and the defaults of the settings it is silent about.
std::map<std::string, std::string> to_settings(const std::string& toml, const std::string& file) {
  std::map<std::string, std::string> settings;
  for (auto& [key, value] : read_settings_toml(toml, file + ": not a run's configuration", Exit::bad_input)) {
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (const Setting<RunConfig>* setting = setting_named(run_config_table(), flag)) flag = setting->flag;
    settings[flag] = value;
  }
  if (settings.empty()) return settings;  // not known, which is not the same as the defaults
  const RunConfig defaults;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) settings.emplace(setting.flag, plain_text(setting.value(defaults)));
  return settings;
}

template <class Number>
void read_whole(const std::map<std::string, std::string>& settings, const char* key, const std::string& file,
                Number& number) {
  const auto found = settings.find(key);
  if (found == settings.end()) return;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    damaged({file, key}, "not a run's configuration: expected a whole number, got `" + text + "`");
}

// What config.toml knows of a run before its evaluation exists.
void read_settings(const std::string& file, Run& run) {
  run.settings = to_settings(run.config_toml, file);
  const auto text = [&](const char* key, std::string& value) {
    const auto found = run.settings.find(key);
    if (found != run.settings.end() && !found->second.empty()) value = found->second;
  };
  text("task", run.task);
  text("ablation", run.ablation);
  text("policies", run.policies);
  text("precision", run.precision);
  read_whole(run.settings, "seed", file, run.seed);
  read_whole(run.settings, "steps", file, run.steps);
  read_whole(run.settings, "context", file, run.context);
}

json read_json_object(const std::string& file) {
  json object = parse_json(read_file("report", file), {file, ""});
  if (!object.is_object()) damaged({file, ""}, "expected an object");
  return object;
}

const json& required_measurement(const json& object, const std::string& file) {
  if (!object.is_object()) damaged({file, ""}, "expected an object");
  const std::int64_t schema = Reader{object, file}.integer("schema", 0);
  if (schema != 1) damaged({file, "schema"}, "expected 1, got " + std::to_string(schema));
  if (!object.contains("alpha_1")) damaged({file, ""}, "no measurement: expected the JSON of eval_<ablation> sink");
  return object;
}

json read_evaluation_file(const std::string& file) {
  json object = read_json_object(file);
  required_measurement(object, file);
  return object;
}

// Everything an evaluation says of its run beside the numbers.
void read_identity(const json& object, const std::string& file, Run& run) {
  const Reader read{object, file};
  run.name = read.text("run", run.name);
  run.task = read.text("task", run.task);
  run.ablation = read.text("ablation", run.ablation);
  run.policies = read.text("policies", run.policies);
  run.commit = read.text("commit", "");
  run.data_sha256 = read.text("data_sha256", "");
  run.date = read.text("date", "");
  run.machine = read.text("machine", "");
  run.precision = read.text("precision", run.precision);
  run.seed = read.seed("seed", run.seed);
  run.steps = read.integer("steps", run.steps);
  run.parameters = read.integer("parameters", 0);
}

void read_numbers(const json& object, const std::string& file, Run& run) {
  const Reader read{object, file};
  run.step = read.integer("step", 0);
  run.tokens = read.integer("tokens", 0);
  run.sequences = read.integer("sequences", 0);
  run.context = read.integer("context", run.context);
  run.evaluation = to_evaluation(object, file);
  run.finished = true;
}

// What the curves say of the run's time, and of its steps that went wrong.
void read_clock(Run& run) {
  const auto column = [&](const char* name) {
    const auto found = run.curves.find(name);
    return found == run.curves.end() ? Row() : found->second;
  };
  const Row step = column("step"), seconds = column("seconds"), loss = column("train_loss"), norm = column("grad_norm");
  if (!seconds.empty() && std::isfinite(seconds.back())) run.seconds = seconds.back();
  for (std::size_t i = 0; i < std::min(loss.size(), norm.size()); ++i)
    if (!std::isfinite(loss[i]) || !std::isfinite(norm[i]))
      if (run.skipped_steps++ == 0) run.first_skipped = static_cast<std::int64_t>(step[i]);
}

// Where the curves have got to, and what was measured last.
void read_progress(Run& run) {
  const Row& step = run.curves["step"];
  if (step.empty()) return;
  run.step = static_cast<std::int64_t>(step.back());
  const auto tokens = run.curves.find("tokens");
  if (tokens != run.curves.end() && std::isfinite(tokens->second.back()))
    run.tokens = static_cast<std::int64_t>(tokens->second.back());
  if (auto last = last_measurement(run.curves)) {
    run.evaluation = std::move(last->evaluation);
    run.unfinished_step = last->step;
    // Older programs logged nothing of an extra key or token.
    const bool unseen = run.evaluation->sink_star.empty() && run.policies.find("extra=") != std::string::npos;
    if (unseen || run.policies.empty()) run.evaluation->extra = "unknown";
  }
}

constexpr std::size_t kLongestReason = 2000;
std::string first_line(const std::string& text) { return text.substr(0, std::min(text.find('\n'), kLongestReason)); }

// A run that was gone on with after its end keeps the evaluation of that end until it has its new one.
bool has_gone_on(Run& run, const json& evaluation, const std::string& file) {
  const Reader read{evaluation, file};
  if (!read.has("step")) return false;
  const std::int64_t evaluated = read.integer("step", 0);
  const Row& step = run.curves["step"];
  return run.steps > evaluated || (!step.empty() && step.back() > static_cast<double>(evaluated));
}

std::string name_of_folder(const fs::path& folder) {
  const fs::path normal = fs::absolute(folder).lexically_normal();
  return normal.filename().empty() ? normal.parent_path().filename().string() : normal.filename().string();
}

// `eval sink` names its checkpoint, or the model of another program, where training names the run: the run's folder, or
// the file's or folder's own name.
std::string name_of_model(const std::string& named) {
  const fs::path path(named);
  if (path.extension() == ".h5")
    return path.filename() == "checkpoint.h5" && path.has_parent_path() ? name_of_folder(path.parent_path())
                                                                        : path.stem().string();
  if (path.extension() == ".gguf" || path.extension() == ".bin") return path.stem().string();
  return named.find('/') != std::string::npos ? name_of_folder(path) : named;
}

Run measurement(const json& object, const std::string& file) {
  Run run;
  run.folder = file;
  run.name = fs::path(file).stem().string();
  run.config_toml = Reader{object, file}.text("config_toml", "");
  read_settings(file + " (config_toml)", run);
  read_identity(object, file, run);
  run.name = name_of_model(run.name);
  run.model = run.name;
  read_numbers(object, file, run);
  if (run.evaluation->input != "text") run.name += ", " + run.evaluation->input + " input";
  run.attention = attention_of(run);
  return run;
}

}  // namespace

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

bool Run::rows_sum_to_one() const {
  if (!evaluation) return attention == "softmax";
  // Half a percent covers bf16 rounding of rows that sum to one by construction.
  return std::abs(evaluation->total_mass() - 1) < 5e-3 &&
         std::abs(evaluation->get("alpha_1") - evaluation->get("alpha_1_raw")) < 5e-3;
}

std::string Run::mark() const {
  const std::string of = steps > 0 ? " of " + std::to_string(steps) : "";
  if (finished) return step < steps ? "at step " + std::to_string(step) + of : "";
  if (!evaluation) return "nothing measured yet";
  return "at step " + std::to_string(unfinished_step) + of + ", not finished";
}

bool is_run_folder(const std::string& folder) {
  const fs::path root(folder);
  return fs::exists(root / "evaluation.json") ||
         (fs::exists(root / "config.toml") && (fs::exists(root / "metrics.jsonl") || fs::exists(root / "failure.txt")));
}

Run read_run_folder(const std::string& folder) {
  const fs::path root(folder);
  std::error_code error;
  const bool is_folder = fs::is_directory(root, error);
  if (is_folder) fs::directory_iterator(root, error);
  if (is_folder ? !!error : error == std::errc::permission_denied)
    fail("report", folder + " cannot be read: " + error.message(), Exit::bad_input);
  if (!is_folder) fail("report", folder + " is not a folder", Exit::bad_input);
  if (!is_run_folder(folder))
    fail("report",
         folder +
             " is not a run folder: expected evaluation.json, or config.toml and metrics.jsonl of a run in progress",
         Exit::bad_input);
  const std::string config = root / "config.toml", metrics = root / "metrics.jsonl",
                    evaluation = root / "evaluation.json", failure = root / "failure.txt";
  Run run;
  run.folder = folder;
  run.name = name_of_folder(root);
  if (fs::exists(metrics)) run.curves = to_curves(read_file("report", metrics), metrics);
  read_clock(run);
  json object = json::object();
  if (fs::exists(evaluation)) object = read_evaluation_file(evaluation);
  if (fs::exists(config)) {
    run.config_toml = read_file("report", config);
    read_settings(config, run);
  } else {
    run.config_toml = Reader{object, evaluation}.text("config_toml", "");
    read_settings(evaluation + " (config_toml)", run);
  }
  if (!object.empty() && !has_gone_on(run, object, evaluation)) {
    read_identity(object, evaluation, run);
    read_numbers(object, evaluation, run);
    if (const fs::path interventions = root / "interventions.json"; fs::exists(interventions))
      read_interventions(interventions, run);
  } else {
    run.ablation = Reader{object, evaluation}.text("ablation", run.ablation);
    run.policies = Reader{object, evaluation}.text("policies", run.policies);
    read_progress(run);
    if (fs::exists(failure)) run.failure = first_line(read_file("report", failure));
  }
  run.attention = attention_of(run);
  return run;
}

std::vector<Run> read_measurements(const std::string& file) {
  const json all = read_json_object(file);
  if (!all.contains("inputs")) return {measurement(required_measurement(all, file), file)};
  if (!all["inputs"].is_object() || all["inputs"].empty())
    damaged({file, "inputs"}, "expected an object of the measurements of each input");
  std::vector<Run> runs;
  for (const auto& [input, object] : all["inputs"].items()) {
    Run run = measurement(required_measurement(object, file + ": input " + input), file + ": input " + input);
    run.folder = file;
    run.input = input;
    run.name = run.model + ", " + input;
    runs.push_back(std::move(run));
  }
  // The file's own order is natural tokens first; an object of JSON is read by name.
  std::stable_partition(runs.begin(), runs.end(), [](const Run& run) { return run.input == "natural"; });
  return runs;
}

}  // namespace sink::report
