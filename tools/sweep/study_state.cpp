#include "tools/sweep/study_state.h"

#include <cstdio>
#include <filesystem>
#include <map>

#include "engine/data/data_source.h"
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
    if (known == known_.end()) known = known_.emplace(key, make_data_source(config)->checksum()).first;
    return known->second;
  }

 private:
  std::map<std::string, std::string> known_;
};

}  // namespace

void look_around(StudyState& state) {
  DataChecksums checksums;
  state.found.clear();
  state.earlier.clear();
  state.todo.clear();
  for (std::size_t i = 0; i < state.runs.size(); ++i) {
    RunConfig& config = state.runs[i].config;
    state.found.push_back(found_run(config, [&] { return checksums.of(config); }));
    FoundRun& found = state.found.back();
    const EarlierRun* earlier = state.earlier_runs.find(config, [&] { return checksums.of(config); });
    if (earlier && !stands_for(*earlier, found.state, state.retry)) earlier = nullptr;
    state.earlier.push_back(earlier);
    if (earlier) continue;
    if (found.state == RunStanding::failed && state.retry) {
      config.force = true;
      config.resume = "never";
    } else if (found.state == RunStanding::failed || found.state == RunStanding::complete) {
      continue;
    }
    state.todo.push_back(i);
  }
  for (const std::string& note : state.earlier_runs.notes()) std::fprintf(stderr, "sweep: %s\n", note.c_str());
}

bool is_complete(const StudyRun& run) {
  return found_run(run.config, [] { return std::string(); }).state == RunStanding::complete;
}

std::string claim_of_run(const StudyRun& run) { return std::filesystem::path(run.config.run).filename().string(); }

}  // namespace sink
