#include "tools/sweep/study_state.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "engine/check.h"
#include "engine/data/data_source.h"
#include "engine/io/checkpoint.h"
#include "engine/io/file.h"
#include "engine/io/hdf5_reader.h"
#include "engine/io/printable.h"
#include "model/model_checkpoint.h"
#include "tools/report/results_csv.h"
#include "tools/report/run_settings.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxReasonBytes = 2000;

std::string failure_file(const std::string& run) { return run + "/failure.txt"; }

// Settings that may differ: no result of a finished run depends on them. Of the data the checksum is compared.
const std::set<std::string>& ignored_settings() {
  static const std::set<std::string> flags{"threads", "eval-every", "checkpoint-every", "log-every", "recompute",
                                           "graph",   "data",       "birth-checkpoints"};
  return flags;
}

bool has_interventions(const report::Run& run) {
  return run.evaluation && run.evaluation->scalar.contains("change_removed_1");
}

// Whether a row has what training measured at its end, not a later measurement of another input, data or length, with
// another precision, of other sequences, or of an edited model. Training measures fewer than eval-sequences only where
// the data has no more. An evaluation.json of training names its machine, and the row of one has taken time.
bool is_of_training(const report::Run& row, const RunConfig& config) {
  if (!row.evaluation) return true;
  const bool trained = row.measured_config.empty() ? row.seconds > 0 : !row.machine.empty();
  const bool all_sequences = row.sequences == 0 || row.sequences == config.eval_sequences ||
                             (row.sequences < config.eval_sequences && trained);
  return report::measures_own_text(row) && all_sequences && (row.context == 0 || row.context == config.context) &&
         (row.precision.empty() || row.precision == config.precision);
}

EarlierRun earlier_run(report::Run run, const std::string& file) {
  EarlierRun earlier{std::move(run), file};
  const report::Run& row = earlier.run;
  if (row.settings.empty()) return earlier;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) setting.set(earlier.config, row.settings.at(setting.flag), file);
  earlier.config.ablation = row.ablation;
  earlier.config.policies = row.policies;
  earlier.is_of_training = is_of_training(row, earlier.config);
  if (row.finished && row.step == row.steps)
    earlier.status = RunStatus::complete;
  else if (!row.failure.empty())
    earlier.status = RunStatus::failed;
  return earlier;
}

// The checksum of the tokens of a run. `known` holds those of the data sets that were read already.
std::string data_checksum(const RunConfig& config, std::map<std::string, std::string>& known) {
  std::string key;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (setting.group == "Data" && setting.flag != "seed" && setting.flag != "batch")
      key += plain_text(setting.value(config)) + "\n";
  std::string& checksum = known[key];
  if (checksum.empty()) checksum = make_data_source(config, config.context, config.prefix)->checksum();
  return checksum;
}

bool lacks_tokens(const RunConfig& config) { return config.task == "text" && !fs::exists(config.data + "/tokens.h5"); }

}  // namespace

std::string differing_settings(const RunConfig& stored, const RunConfig& wanted) {
  std::string text;
  auto differs = [&](const std::string& name, const std::string& has, const std::string& wants) {
    text += (text.empty() ? "" : ", ") + name + " = " + has + " instead of " + wants;
  };
  if (stored.ablation != wanted.ablation)
    differs("ablation", toml_text(SettingValue(stored.ablation)), toml_text(SettingValue(wanted.ablation)));
  else if (!stored.policies.empty() && !wanted.policies.empty() && stored.policies != wanted.policies)
    differs("policies", toml_text(SettingValue(stored.policies)), toml_text(SettingValue(wanted.policies)));
  for (const Setting<RunConfig>& setting : run_config_table()) {
    if (!is_saved(setting) || ignored_settings().contains(setting.flag)) continue;
    if (setting.flag == "initial" && fs::weakly_canonical(stored.initial) == fs::weakly_canonical(wanted.initial))
      continue;
    if (setting.value(stored) != setting.value(wanted))
      differs(setting.flag, toml_text(setting.value(stored)), toml_text(setting.value(wanted)));
  }
  return text;
}

namespace {

// A file that a program wrote: what is wrong with it is damage, and no mistake of the user.
RunConfig stored_config(const std::string& toml, const std::string& file) {
  try {
    return run_config_from_toml(toml, file);
  } catch (const Error& error) { throw error.code == Exit::usage ? Error(error.what(), Exit::bad_input) : error; }
}

}  // namespace

void require_own_measurement(const report::Run& measured, const std::string& file, const RunConfig& run) {
  std::string differing;
  if (measured.measured_config.empty())
    differing = "it has no config_toml";
  else
    differing = differing_settings(stored_config(measured.measured_config, file + " (config_toml)"), run);
  if (differing.empty() && !is_of_training(measured, run)) {
    const report::Measurement& e = *measured.evaluation;
    differing = "input " + in_quotes(e.input) + (e.positions.empty() ? "" : ", positions " + in_quotes(e.positions)) +
                (e.data.empty() ? "" : ", data " + in_quotes(e.data)) + ", " + counted(measured.sequences, "sequence") +
                " of " + counted(measured.context, "token") + ", " + in_quotes(measured.precision);
  }
  if (differing.empty()) return;
  throw Error(file + " is not what this run measured (" + differing +
                  "); expected the file that its training wrote: move this one away, and the same command measures the "
                  "run again",
              Exit::bad_input);
}

FoundRun found_run(const RunConfig& wanted, const std::function<std::string()>& data_checksum) {
  const std::string config = wanted.run + "/config.toml";
  if (!fs::exists(config)) return {};
  for (const std::string& file : {config, failure_file(wanted.run)}) require_regular_file(file);
  const RunConfig stored = stored_config(read_file("sweep", config), config);
  if (std::string differing = differing_settings(stored, wanted); !differing.empty())
    throw Error(wanted.run + " holds a run with " + differing + "; give another --out, or move it away", Exit::usage);
  FoundRun found{RunStatus::begun, "", stored.threads};
  if (fs::exists(wanted.run + "/evaluation.json")) {
    const report::Run run = report::read_run_folder(wanted.run);
    if (run.finished && run.step == wanted.steps) {
      require_own_measurement(run, wanted.run + "/evaluation.json", wanted);
      const std::string wanted_data = data_checksum ? data_checksum() : "";
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
    std::string text = read_file("sweep", failure_file(wanted.run)).substr(0, kMaxReasonBytes);
    found.reason = printable(text.substr(0, text.find('\n')));
    found.status = RunStatus::failed;
  }
  return found;
}

void store_failure(const RunConfig& run, const std::string& reason) {
  make_folders(run.run);  // the run may have failed before it made it
  if (!fs::exists(run.run + "/config.toml")) write_file_atomically(run.run + "/config.toml", to_toml(run));
  std::string line = reason;
  std::replace(line.begin(), line.end(), '\n', ' ');
  write_file_atomically(failure_file(run.run), line + "\n");
}

EarlierRuns::EarlierRuns(const std::vector<std::string>& files) : files_(files) {
  for (const std::string& file : files)
    for (report::Run& run : report::read_results_csv(read_file("sweep", file), file))
      rows_.push_back(earlier_run(std::move(run), file));
}

const EarlierRun* EarlierRuns::find(const RunConfig& wanted, const std::function<std::string()>& data_checksum,
                                    bool interventions, const std::function<std::string()>& start_checksum) {
  const EarlierRun* found = nullptr;
  for (EarlierRun& row : rows_) {
    if (row.status == RunStatus::begun || !row.is_of_training || !differing_settings(row.config, wanted).empty())
      continue;
    const std::string& data = row.run.data_sha256;
    if (!data.empty() && data != data_checksum()) continue;
    if (const std::string& start = row.run.initial_sha256; start_checksum && !start.empty())
      if (const std::string now = start_checksum(); !now.empty() && now != start) {
        row.other_start = true;
        continue;
      }
    if (interventions && row.status == RunStatus::complete && !has_interventions(row.run)) {
      row.lacking = true;
      continue;
    }
    row.matched = true;
    if (!found || (found->status == RunStatus::failed && row.status == RunStatus::complete)) found = &row;
  }
  return found;
}

std::string EarlierRuns::checksum_of(const std::string& data) const {
  std::set<std::string> found;
  for (const EarlierRun& row : rows_)
    if (row.config.task == "text" && row.config.data == data) found.insert(row.run.data_sha256);
  return found.size() == 1 ? *found.begin() : "";
}

std::vector<std::string> EarlierRuns::notes() const {
  std::vector<std::string> lines;
  for (const std::string& file : files_) {
    std::size_t all = 0, matched = 0, begun = 0, lacking = 0, other_start = 0;
    for (const EarlierRun& row : rows_) {
      if (row.file != file) continue;
      ++all;
      matched += row.matched;
      begun += row.status == RunStatus::begun;
      lacking += row.lacking;
      other_start += row.other_start;
    }
    const std::string of = " of " + std::to_string(all) + " rows ";
    std::string line = printable(file) + ": " + std::to_string(matched) + of + "are runs of this study";
    if (const std::size_t known = matched + begun + lacking + other_start; all > known)
      line += "; " + std::to_string(all - known) + of + "are of other settings, data or input";
    if (other_start > 0)
      line += "; " + std::to_string(other_start) + of + "started from other parameters than their checkpoint has now";
    if (lacking > 0) line += "; " + std::to_string(lacking) + of + "lack the interventions that the study measures";
    if (begun > 0) line += "; " + std::to_string(begun) + of + "never finished";
    lines.push_back(line);
  }
  return lines;
}

namespace {

// The checksum of the parameters that the run would start from now; "" if it starts from none, or if that run is not
// complete. `known` holds those of the checkpoints that were read already.
std::string start_checksum(const StudyState& state, const StudyRun& run, std::map<std::string, std::string>& known) {
  const std::string& checkpoint = run.config.initial;
  if (checkpoint.empty() || !fs::exists(checkpoint) || (run.from && !is_complete(state.runs[*run.from]))) return "";
  std::string& checksum = known[checkpoint];
  if (checksum.empty()) checksum = parameters_checksum(load_checkpoint(checkpoint));
  return checksum;
}

// Of a complete run and the run from whose checkpoint it started, whose parameters may have changed since.
void require_own_start(const RunConfig& run, const RunConfig& start) {
  const std::string checkpoint = start.run + "/checkpoint.h5";
  if (!fs::exists(checkpoint) || fs::last_write_time(checkpoint) <= fs::last_write_time(run.run + "/evaluation.json"))
    return;
  const std::string own = report::read_run_folder(run.run).initial_sha256;
  if (own.empty() || own == parameters_checksum(load_checkpoint(checkpoint))) return;
  throw Error(run.run + " started from other parameters than those that " + checkpoint +
                  " has now; move it away, and it is trained again, or restore that checkpoint",
              Exit::bad_input);
}

}  // namespace

void start_again(RunConfig& config) {
  config.force = true;
  config.resume = "never";
}

bool replaces_run(const EarlierRun& earlier, RunStatus own, bool retry) {
  if (own == RunStatus::complete) return false;
  return earlier.status == RunStatus::complete || (own != RunStatus::failed && !retry);
}

void read_states(StudyState& state, std::optional<std::size_t> job) {
  std::map<std::string, std::string> known, starts;
  std::set<std::string> known_by_name;
  state.found.assign(state.runs.size(), {});
  state.earlier.assign(state.runs.size(), nullptr);
  state.todo.clear();
  for (std::size_t i = job.value_or(0); i < (job ? *job + 1 : state.runs.size()); ++i) {
    RunConfig& config = state.runs[i].config;
    const auto checksum = [&] {
      const std::string named =
          state.collects && lacks_tokens(config) ? state.earlier_runs.checksum_of(config.data) : "";
      if (named.empty()) return data_checksum(config, known);
      known_by_name.insert(config.data);
      return named;
    };
    const FoundRun& found = state.found[i] = found_run(config, checksum);
    if (const auto& from = state.runs[i].from; from && found.status == RunStatus::complete)
      require_own_start(config, state.runs[*from].config);
    // A sweep that was killed may not have flushed the last name in this folder.
    if (found.status == RunStatus::complete) sync_folder(config.run + "/config.toml");
    const EarlierRun* earlier = state.earlier_runs.find(config, checksum, state.study.interventions,
                                                        [&] { return start_checksum(state, state.runs[i], starts); });
    if (earlier && replaces_run(*earlier, found.status, state.retry)) {
      state.earlier[i] = earlier;
      continue;
    }
    if (found.status == RunStatus::failed && state.retry) {
      start_again(config);
    } else if (found.status == RunStatus::failed || found.status == RunStatus::complete) {
      continue;
    }
    state.todo.push_back(i);
  }
  for (const std::string& data : known_by_name)
    std::fprintf(stderr, "sweep: note: there is no %s/tokens.h5: rows trained on a folder of this name are taken\n",
                 printable(data).c_str());
  if (job) return;  // notes() needs all runs
  for (const std::string& note : state.earlier_runs.notes()) std::fprintf(stderr, "sweep: %s\n", note.c_str());
}

bool is_complete(const StudyRun& run) { return found_run(run.config).status == RunStatus::complete; }

bool lacks_interventions(const StudyState& state, std::size_t run) {
  if (!state.study.interventions || state.earlier[run] || !is_complete(state.runs[run])) return false;
  return !has_interventions(report::read_run_folder(state.name(run)));
}

bool keeps_optimizer_state(const StudyState& state, std::size_t run) {
  const std::string checkpoint = state.name(run) + "/checkpoint.h5";
  if (state.study.whole_checkpoints || state.earlier[run] || !is_complete(state.runs[run]) || !fs::exists(checkpoint))
    return false;
  try {
    const std::vector<std::string> paths = Hdf5Reader(checkpoint).dataset_paths();
    return std::any_of(paths.begin(), paths.end(),
                       [](const std::string& path) { return path.starts_with(kOptimizerFolder); });
  } catch (const Hdf5Failure&) { return false; }  // the programs that read it say what it is
}

}  // namespace sink
