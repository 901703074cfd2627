#include "tools/sweep/study_state.h"

#include <cstdio>
#include <map>

#include "engine/data/data_source.h"
#include "tools/report/run_reader.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

// What the tokens of a run are; each text is looked through once.
class DataChecksums {
 public:
  std::string of(const RunConfig& config) {
    std::string key;
    for (const Setting<RunConfig>& setting : run_config_table())
      if (setting.group == "Data" && setting.flag != "seed" && setting.flag != "batch")
        key += plain_text(setting.value(config)) + "\n";
    auto known = known_.find(key);
    if (known == known_.end())
      known = known_.emplace(key, make_data_source(config, config.context, config.prefix)->checksum()).first;
    return known->second;
  }

 private:
  std::map<std::string, std::string> known_;
};

}  // namespace

void read_states(StudyState& state, std::optional<std::size_t> job) {
  DataChecksums checksums;
  state.found.assign(state.runs.size(), {});
  state.earlier.assign(state.runs.size(), nullptr);
  state.todo.clear();
  for (std::size_t i = job.value_or(0); i < (job ? *job + 1 : state.runs.size()); ++i) {
    RunConfig& config = state.runs[i].config;
    const FoundRun& found = state.found[i] = found_run(config, [&] { return checksums.of(config); });
    const EarlierRun* earlier = state.earlier_runs.find(config, [&] { return checksums.of(config); });
    if (earlier && replaces_run(*earlier, found.status, state.retry)) {
      state.earlier[i] = earlier;
      continue;
    }
    if (found.status == RunStatus::failed && state.retry) {
      config.force = true;
      config.resume = "never";
    } else if (found.status == RunStatus::failed || found.status == RunStatus::complete) {
      continue;
    }
    state.todo.push_back(i);
  }
  if (job) return;  // the rows of other jobs were not asked for
  for (const std::string& note : state.earlier_runs.notes()) std::fprintf(stderr, "sweep: %s\n", note.c_str());
}

bool is_complete(const StudyRun& run) {
  return found_run(run.config, [] { return std::string(); }).status == RunStatus::complete;
}

bool lacks_interventions(const StudyState& state, std::size_t run) {
  if (!state.study.interventions || state.earlier[run] || !is_complete(state.runs[run])) return false;
  const report::Run read = report::read_run_folder(state.name(run));
  return !read.evaluation || !read.evaluation->scalar.contains("change_removed_1");
}

}  // namespace sink
