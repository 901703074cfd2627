#include "tools/sweep/earlier_runs.h"

#include <algorithm>

#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "tools/report/results_csv.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

EarlierRun earlier_run(report::Run run, const std::string& file) {
  EarlierRun earlier{std::move(run), file};
  const report::Run& row = earlier.run;
  if (row.settings.empty()) return earlier;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) setting.set(earlier.config, row.settings.at(setting.flag), file);
  earlier.config.ablation = row.ablation;
  earlier.config.policies = row.policies;
  if (row.finished && row.step == row.steps)
    earlier.state = RunStanding::complete;
  else if (!row.failure.empty())
    earlier.state = RunStanding::failed;
  return earlier;
}

}  // namespace

EarlierRuns::EarlierRuns(const std::vector<std::string>& files) : files_(files) {
  for (const std::string& file : files)
    for (report::Run& run : report::read_results_csv(read_file("sweep", file), file))
      rows_.push_back(earlier_run(std::move(run), file));
  met_.resize(rows_.size());
}

const EarlierRun* EarlierRuns::find(const RunConfig& wanted, const std::function<std::string()>& data_checksum) {
  const EarlierRun* found = nullptr;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const EarlierRun& row = rows_[i];
    if (row.state == RunStanding::begun || !differing_settings(row.config, wanted).empty()) continue;
    const std::string& data = row.run.data_sha256;
    if (!data.empty() && data != data_checksum()) continue;
    met_[i] = true;
    if (!found || (found->state == RunStanding::failed && row.state == RunStanding::complete)) found = &row;
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
      met += met_[i];
      begun += rows_[i].state == RunStanding::begun;
    }
    const std::string of = " of " + std::to_string(all) + " rows ";
    std::string line = printable(file) + ": " + std::to_string(met) + of + "are runs of this study";
    if (all > met + begun) line += "; " + std::to_string(all - met - begun) + of + "are of other settings or data";
    if (begun > 0) line += "; " + std::to_string(begun) + of + "never finished";
    lines.push_back(line);
  }
  return lines;
}

bool stands_for(const EarlierRun& earlier, RunStanding own, bool retry) {
  if (own == RunStanding::complete) return false;
  return earlier.state == RunStanding::complete || (own != RunStanding::failed && !retry);
}

}  // namespace sink
