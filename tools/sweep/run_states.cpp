#include "tools/sweep/run_states.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/io/checkpoint.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "model/model_checkpoint.h"
#include "tools/report/results_csv.h"
#include "tools/report/run_reader.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLongestReason = 2000;

std::string failure_file(const std::string& run) { return run + "/failure.txt"; }

// Settings that may differ: no value of a finished run depends on them, or (data) something better is compared.
const std::set<std::string>& free_to_differ() {
  static const std::set<std::string> flags{"threads", "eval-every", "checkpoint-every", "log-every", "recompute",
                                           "graph",   "data",       "birth-checkpoints"};
  return flags;
}

EarlierRun earlier_run(report::Run run, const std::string& file) {
  EarlierRun earlier{std::move(run), file};
  const report::Run& row = earlier.run;
  if (row.settings.empty()) return earlier;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) setting.set(earlier.config, row.settings.at(setting.flag), file);
  earlier.config.ablation = row.ablation;
  earlier.config.policies = row.policies;
  if (row.finished && row.step == row.steps)
    earlier.status = RunStatus::complete;
  else if (!row.failure.empty())
    earlier.status = RunStatus::failed;
  return earlier;
}

}  // namespace

std::string differing_settings(const RunConfig& stored, const RunConfig& wanted) {
  std::string text;
  auto differs = [&](const std::string& name, const std::string& has, const std::string& wants) {
    text += (text.empty() ? "" : ", ") + name + " = " + has + " instead of " + wants;
  };
  if (stored.ablation != wanted.ablation)
    differs("ablation", toml_text(SettingValue(stored.ablation)), toml_text(SettingValue(wanted.ablation)));
  for (const Setting<RunConfig>& setting : run_config_table()) {
    if (!is_saved(setting) || free_to_differ().contains(setting.flag)) continue;
    if (setting.flag == "initial" && fs::weakly_canonical(stored.initial) == fs::weakly_canonical(wanted.initial))
      continue;
    if (setting.value(stored) != setting.value(wanted))
      differs(setting.flag, toml_text(setting.value(stored)), toml_text(setting.value(wanted)));
  }
  return text;
}

FoundRun found_run(const RunConfig& wanted, const std::function<std::string()>& data_checksum) {
  const std::string config = wanted.run + "/config.toml";
  if (!fs::exists(config)) return {};
  const RunConfig stored = run_config_from_toml(read_file("sweep", config), config);
  if (std::string differing = differing_settings(stored, wanted); !differing.empty())
    throw Error(wanted.run + " holds a run with " + differing + "; give another --out, or move it away", Exit::usage);
  FoundRun found{RunStatus::begun, "", stored.threads};
  if (fs::exists(wanted.run + "/evaluation.json")) {
    const report::Run run = report::read_run_folder(wanted.run);
    if (run.finished && run.step == wanted.steps) {
      const std::string wanted_data = data_checksum();
      if (!wanted_data.empty() && run.data_sha256 != wanted_data)
        throw Error(wanted.run + " holds a run on other data (its tokens have the checksum " +
                        printable(run.data_sha256.substr(0, 12)) + "..., those of --data " + wanted_data.substr(0, 12) +
                        "...); give another --out, or the same --data",
                    Exit::bad_input);
      found.status = RunStatus::complete;
      return found;
    }
  }
  if (fs::exists(failure_file(wanted.run))) {
    std::string text = read_file("sweep", failure_file(wanted.run)).substr(0, kLongestReason);
    found.reason = printable(text.substr(0, text.find('\n')));
    found.status = RunStatus::failed;
  }
  return found;
}

void store_failure(const RunConfig& run, const std::string& reason) {
  std::error_code ignored;  // a run that failed before it had a folder
  fs::create_directories(run.run, ignored);
  if (!fs::exists(run.run + "/config.toml")) write_file_atomically(run.run + "/config.toml", to_toml(run));
  std::string line = reason;
  std::replace(line.begin(), line.end(), '\n', ' ');
  write_file_atomically(failure_file(run.run), line + "\n");
}

bool is_failure_of_run(Exit code) {
  return code == Exit::diverged || code == Exit::out_of_memory || code == Exit::failure;
}

void drop_optimizer_state(const std::string& run) {
  const std::string path = run + "/checkpoint.h5";
  Checkpoint checkpoint = load_checkpoint(path);
  std::erase_if(checkpoint.tensors, [](const auto& tensor) { return tensor.first.starts_with(kOptimizerFolder); });
  save_checkpoint(path, checkpoint);
}

EarlierRuns::EarlierRuns(const std::vector<std::string>& files) : files_(files) {
  for (const std::string& file : files)
    for (report::Run& run : report::read_results_csv(read_file("sweep", file), file))
      rows_.push_back(earlier_run(std::move(run), file));
  matched_.resize(rows_.size());
}

const EarlierRun* EarlierRuns::find(const RunConfig& wanted, const std::function<std::string()>& data_checksum) {
  const EarlierRun* found = nullptr;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const EarlierRun& row = rows_[i];
    if (row.status == RunStatus::begun || !differing_settings(row.config, wanted).empty()) continue;
    const std::string& data = row.run.data_sha256;
    if (!data.empty() && data != data_checksum()) continue;
    matched_[i] = true;
    if (!found || (found->status == RunStatus::failed && row.status == RunStatus::complete)) found = &row;
  }
  return found;
}

std::vector<std::string> EarlierRuns::notes() const {
  std::vector<std::string> lines;
  for (const std::string& file : files_) {
    std::size_t all = 0, met = 0, begun = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].file != file) continue;
      ++all;
      met += matched_[i];
      begun += rows_[i].status == RunStatus::begun;
    }
    const std::string of = " of " + std::to_string(all) + " rows ";
    std::string line = printable(file) + ": " + std::to_string(met) + of + "are runs of this study";
    if (all > met + begun) line += "; " + std::to_string(all - met - begun) + of + "are of other settings or data";
    if (begun > 0) line += "; " + std::to_string(begun) + of + "never finished";
    lines.push_back(line);
  }
  return lines;
}

bool replaces_run(const EarlierRun& earlier, RunStatus own, bool retry) {
  if (own == RunStatus::complete) return false;
  return earlier.status == RunStatus::complete || (own != RunStatus::failed && !retry);
}

}  // namespace sink
