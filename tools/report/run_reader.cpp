#include "tools/report/run_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "tools/report/evaluation_reader.h"
#include "tools/report/json_input.h"
#include "train/run_config_table.h"

namespace sink::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr std::size_t kMaxKeys = 256;  // of metrics.jsonl: each has a column as long as the run
constexpr std::int64_t kMaxSteps = 1'000'000'000;
constexpr std::size_t kMaxFailureLength = 2000;

Curves to_curves(const std::string& text, const std::string& file) {
  Curves curves{{"step", {}}};
  Row& step = curves["step"];
  std::size_t begin = 0;
  for (std::int64_t line = 1; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a run in progress may have written half of its last line
    const std::string row_text = text.substr(begin, end - begin);
    begin = end + 1;
    const Place at{file + " line " + std::to_string(line), ""};
    const json object = parse_json(row_text, at);
    if (!object.is_object() || !object.contains("step")) damaged(at, "expected an object with a \"step\"");
    const std::int64_t whole = Reader{object, at.file}.integer("step", 0);
    if (whole < 0 || whole > kMaxSteps) damaged(at, "expected a step from 0 to " + std::to_string(kMaxSteps));
    const double now = static_cast<double>(whole);
    while (!step.empty() && step.back() >= now)  // a resumed run repeats the steps after its checkpoint
      for (auto& [name, column] : curves) column.pop_back();
    for (const auto& [key, value] : object.items()) {
      // Of --key-alpha-every a run has tables, which are no curves.
      if (key == "step" || value.is_boolean() || key.starts_with("train_alpha_")) continue;
      Row& column = curves[key];
      if (curves.size() > kMaxKeys) damaged(at, "expected at most " + std::to_string(kMaxKeys) + " different keys");
      column.resize(step.size(), kNaN);  // a new key
      column.push_back(to_number(value, {at.file, key}));
    }
    step.push_back(now);
    for (auto& [name, column] : curves) column.resize(step.size(), kNaN);
  }
  return curves;
}

// The settings of a config.toml, completed with defaults.
std::map<std::string, std::string> to_settings(const std::string& toml, const std::string& file) {
  std::map<std::string, std::string> settings;
  for (auto& [key, value] : read_settings_toml(toml, file + ": not a run's configuration", Exit::bad_input)) {
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (const Setting<RunConfig>* setting = setting_named(run_config_table(), flag)) flag = setting->flag;
    settings[flag] = value;
  }
  if (settings.empty()) return settings;  // unknown, which differs from the defaults
  const RunConfig defaults;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) settings.emplace(setting.flag, plain_text(setting.value(defaults)));
  return settings;
}

// The settings in config.toml that the evaluation repeats.
void read_settings(const std::string& file, Run& run) {
  run.settings = to_settings(run.config_toml, file);
  const auto read = [&]<class T>(const char* key, T& value) {
    const auto found = run.settings.find(key);
    if (found == run.settings.end()) return;
    const std::string& text = found->second;
    if constexpr (std::is_same_v<T, std::string>) {
      if (!text.empty()) value = text;
    } else {
      const std::optional<T> number = parse_number<T>(text);
      if (!number) damaged({file, key}, "not a run's configuration: expected a whole number, got " + in_quotes(text));
      value = *number;
    }
  };
  read("task", run.task);
  read("ablation", run.ablation);
  read("policies", run.policies);
  read("precision", run.precision);
  read("seed", run.seed);
  read("steps", run.steps);
  read("context", run.context);
}

json read_json(const std::string& file) { return parse_json(read_file("report", file), {file, ""}); }

const json& require_measurement(const json& object, const std::string& file) {
  if (!object.is_object()) damaged({file, ""}, "expected an object");
  const std::int64_t schema = Reader{object, file}.integer("schema", 0);
  if (schema != 1) damaged({file, "schema"}, "expected 1, got " + std::to_string(schema));
  if (!object.contains(name_of(&SinkScores::alpha_1)))
    damaged({file, ""}, "no measurement: expected the JSON of eval_<ablation> sink");
  return object;
}

void read_identity(const json& object, const std::string& file, Run& run) {
  const Reader read{object, file};
  run.name = read.text("run", run.name);
  run.task = read.text("task", run.task);
  run.ablation = read.text("ablation", run.ablation);
  run.policies = read.text("policies", run.policies);
  run.commit = read.text("commit", "");
  run.data_sha256 = read.text("data_sha256", "");
  run.initial_sha256 = read.text("initial_sha256", "");
  run.date = read.text("date", "");
  run.machine = read.text("machine", "");
  run.precision = read.text("precision", run.precision);
  run.seed = read.seed("seed", run.seed);
  run.steps = read.integer("steps", run.steps);
  run.parameters = read.integer("parameters", 0);
  run.ranks = std::max<std::int64_t>(1, read.integer("ranks", 1));
}

void read_measurement(const json& object, const std::string& file, Run& run) {
  const Reader read{object, file};
  run.step = read.integer("step", 0);
  run.tokens = read.integer("tokens", 0);
  run.sequences = read.integer("sequences", 0);
  run.context = read.integer("context", run.context);
  run.evaluation = to_evaluation(object, file);
  run.finished = true;
}

// Wall time, and steps that were skipped: their loss or gradient was not finite. A step without targets has no loss,
// and gradient 0.
void read_clock(Run& run) {
  const auto column = [&](const char* name) {
    const auto found = run.curves.find(name);
    return found == run.curves.end() ? Row() : found->second;
  };
  const Row step = column("step"), seconds = column("seconds"), loss = column("train_loss"), norm = column("grad_norm");
  if (!seconds.empty() && std::isfinite(seconds.back())) run.seconds = seconds.back();
  for (std::size_t i = 0; i < std::min(loss.size(), norm.size()); ++i)
    if (!std::isfinite(norm[i]) || (!std::isfinite(loss[i]) && norm[i] != 0))
      if (run.skipped_steps++ == 0) run.first_skipped = static_cast<std::int64_t>(step[i]);
}

// The last step and the last measurement of the curves.
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
    // Older programs did not log the extra key or token.
    const bool not_logged = !run.evaluation->proxy.has_star() && run.policies.find("extra=") != std::string::npos;
    if (not_logged || run.policies.empty()) run.evaluation->extra = Evaluation::Extra::unknown;
  }
}

// A run that was continued with more steps keeps its old evaluation until it ends again.
bool was_continued(Run& run, const json& evaluation, const std::string& file) {
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

// `eval sink` stores the path of the checkpoint or model as the run's name: shortened to the run's folder, or to the
// name of the model's file or folder.
std::string name_of_model(const std::string& named) {
  const fs::path path(named);
  if (path.extension() == ".h5")
    return path.filename() == "checkpoint.h5" && path.has_parent_path() ? name_of_folder(path.parent_path())
                                                                        : path.stem().string();
  if (path.extension() == ".gguf" || path.extension() == ".bin") return path.stem().string();
  return named.find('/') != std::string::npos ? name_of_folder(path) : named;
}

Run to_measurement(const json& object, const std::string& file) {
  Run run;
  run.folder = file;
  run.name = fs::path(file).stem().string();
  run.config_toml = run.measured_config = Reader{object, file}.text("config_toml", "");
  read_settings(file + " (config_toml)", run);
  read_identity(object, file, run);
  run.name = name_of_model(run.name);
  run.model = run.name;
  read_measurement(object, file, run);
  run.name = run.edited_model();
  if (run.evaluation->input != "text") run.name += ", " + run.evaluation->input + " input";
  run.attention = attention_of(run);
  return run;
}

}  // namespace

std::string attention_of(const Run& run) {
  constexpr std::string_view kKey = "attention=";
  std::istringstream words(run.policies);
  for (std::string word; words >> word;) {
    if (!word.starts_with(kKey)) continue;
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    return word.substr(kKey.size());
  }
  return run.ablation.empty() ? run.name : run.ablation;
}

bool Run::rows_sum_to_one() const {
  if (!evaluation) return attention == "softmax";
  // Half a percent covers bf16 rounding of rows that sum to one by construction.
  return std::abs(evaluation->whole_row_sum() - 1) < 5e-3 &&
         std::abs(evaluation->proxy.alpha_1 - evaluation->raw.alpha_1) < 5e-3;
}

std::string Run::edited_model() const {
  return evaluation && !evaluation->positions.empty() ? model + ", positions " + evaluation->positions : model;
}

std::string Run::status() const {
  const std::string of = steps > 0 ? " of " + std::to_string(steps) : "";
  if (finished) return step < steps ? "at step " + std::to_string(step) + of : "";
  if (!evaluation) return failure.empty() ? "nothing measured yet" : "failed: " + failure;
  return "at step " + std::to_string(unfinished_step) + of +
         (failure.empty() ? ", not finished" : ", failed: " + failure);
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
  for (const char* name : {"config.toml", "metrics.jsonl", "evaluation.json", "interventions.json", "failure.txt"})
    require_regular_file(root / name);
  const std::string config = root / "config.toml", metrics = root / "metrics.jsonl",
                    evaluation = root / "evaluation.json", failure = root / "failure.txt";
  Run run;
  run.folder = folder;
  run.name = name_of_folder(root);
  if (fs::exists(metrics)) run.curves = to_curves(read_file("report", metrics), metrics);
  read_clock(run);
  json object = json::object();
  if (fs::exists(evaluation)) object = require_measurement(read_json(evaluation), evaluation);
  run.measured_config = Reader{object, evaluation}.text("config_toml", "");
  if (fs::exists(config)) {
    run.config_toml = read_file("report", config);
    read_settings(config, run);
  } else {
    run.config_toml = run.measured_config;
    read_settings(evaluation + " (config_toml)", run);
  }
  if (!object.empty() && !was_continued(run, object, evaluation)) {
    read_identity(object, evaluation, run);
    read_measurement(object, evaluation, run);
    if (const fs::path interventions = root / "interventions.json"; fs::exists(interventions))
      read_interventions(interventions, run);
  } else {
    run.ablation = Reader{object, evaluation}.text("ablation", run.ablation);
    run.policies = Reader{object, evaluation}.text("policies", run.policies);
    read_progress(run);
    if (fs::exists(failure)) {
      const std::string text = read_file("report", failure);
      run.failure = text.substr(0, std::min(text.find('\n'), kMaxFailureLength));
    }
  }
  set_onsets(run);
  run.attention = attention_of(run);
  return run;
}

std::vector<Run> read_measurements(const std::string& file) {
  const json all = read_json(file);
  if (!all.is_object() || !all.contains("inputs")) return {to_measurement(require_measurement(all, file), file)};
  if (!all["inputs"].is_object() || all["inputs"].empty())
    damaged({file, "inputs"}, "expected an object with a measurement per input");
  std::vector<Run> runs;
  for (const auto& [input, object] : all["inputs"].items()) {
    Run run = to_measurement(require_measurement(object, file + ": input " + in_quotes(input)),
                             file + ": input " + in_quotes(input));
    run.folder = file;
    run.input = input;
    run.name = run.edited_model() + ", " + input;
    runs.push_back(std::move(run));
  }
  // JSON objects are read in order of their names.
  std::stable_partition(runs.begin(), runs.end(), [](const Run& run) { return run.input == "natural"; });
  return runs;
}

namespace {

// The run folders directly inside a folder, by name.
std::vector<std::string> runs_inside(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) fail("report", "cannot read the folder " + folder + ": " + error.message(), Exit::bad_input);
  for (const auto& entry : entries)
    if (entry.is_directory(error) && is_run_folder(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// A run and, if it started from a checkpoint, the measurement of that checkpoint.
void read_folder_into(const std::string& folder, std::vector<Run>& runs) {
  const std::string before = folder + "/evaluation-before.json";
  if (fs::is_regular_file(before)) std::ranges::move(read_measurements(before), std::back_inserter(runs));
  runs.push_back(read_run_folder(folder));
}

void read_into(const std::string& path, std::vector<Run>& runs) {
  if (fs::is_regular_file(path)) {
    std::ranges::move(read_measurements(path), std::back_inserter(runs));
    return;
  }
  if (!fs::exists(path)) fail("report", "there is no " + path, Exit::bad_input);
  if (!fs::is_directory(path)) fail("report", path + " is neither a folder nor a file", Exit::bad_input);
  if (is_run_folder(path)) {
    read_folder_into(path, runs);
    return;
  }
  const std::vector<std::string> inside = runs_inside(path);
  if (inside.empty())
    fail("report",
         path +
             " is not a run folder and contains none: expected evaluation.json, or config.toml and metrics.jsonl of a "
             "run in progress, in it or in its subfolders",
         Exit::bad_input);
  for (const std::string& folder : inside) read_folder_into(folder, runs);
}

}  // namespace

std::vector<Run> read_runs(const std::vector<std::string>& paths) {
  std::vector<Run> runs;
  for (const std::string& path : paths) read_into(path, runs);
  std::map<std::string, int> times;
  for (const Run& run : runs) ++times[run.name];
  std::set<std::string> names;
  for (Run& run : runs) {
    if (times[run.name] > 1) run.name += " (" + run.folder + ")";
    const std::string name = run.name;
    for (int copy = 2; !names.insert(run.name).second; ++copy) run.name = name + " (" + std::to_string(copy) + ")";
  }
  return runs;
}

}  // namespace sink::report
