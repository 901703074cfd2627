#include "tools/sweep/run_states.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/io/checkpoint.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "model/model_checkpoint.h"
#include "tools/report/run_reader.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLongestReason = 2000;

std::string failure_file(const std::string& run) { return run + "/failure.txt"; }

// Settings that may differ: no number of a finished run depends on them, or (data) something better is compared.
const std::set<std::string>& free_to_differ() {
  static const std::set<std::string> flags{"threads", "eval-every", "checkpoint-every", "log-every", "recompute",
                                           "graph",   "data",       "birth-checkpoints"};
  return flags;
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
  FoundRun found{RunStanding::begun, "", stored.threads};
  if (fs::exists(wanted.run + "/evaluation.json")) {
    const report::Run run = report::read_run_folder(wanted.run);
    if (run.finished && run.step == wanted.steps) {
      const std::string wanted_data = data_checksum();
      if (!wanted_data.empty() && run.data_sha256 != wanted_data)
        throw Error(wanted.run + " holds a run on other data (its tokens have the checksum " +
                        printable(run.data_sha256.substr(0, 12)) + "..., those of --data " + wanted_data.substr(0, 12) +
                        "...); give another --out, or the same --data",
                    Exit::bad_input);
      found.state = RunStanding::complete;
      return found;
    }
  }
  if (fs::exists(failure_file(wanted.run))) {
    std::string text = read_file("sweep", failure_file(wanted.run)).substr(0, kLongestReason);
    found.reason = printable(text.substr(0, text.find('\n')));
    found.state = RunStanding::failed;
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

void keep_parameters_alone(const std::string& run) {
  const std::string path = run + "/checkpoint.h5";
  Checkpoint checkpoint = load_checkpoint(path);
  std::erase_if(checkpoint.tensors, [](const auto& tensor) { return tensor.first.starts_with(kOptimizerFolder); });
  save_checkpoint(path, checkpoint);
}

}  // namespace sink
