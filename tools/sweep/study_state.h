// A study with everything that is decided before its first run begins: its jobs, which are its runs, what each folder
// holds, and which are still to be trained.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/sweep/run_states.h"
#include "tools/sweep/study_file.h"
#include "tools/sweep/study_runs.h"

namespace sink {

struct StudyState {
  StudyFile study;
  std::string size;  // cpu or gpu
  std::vector<StudyGroup> groups;
  std::vector<StudyRun> runs;  // job N is runs[N]
  bool retry = false;          // train failed runs again
  int ranks = 1;               // of each run
  // The program and the options with which another process finds the same jobs under the same indices.
  std::vector<std::string> command;
  EarlierRuns earlier_runs;
  // As of the last read_states, for each run:
  std::vector<FoundRun> found;
  std::vector<const EarlierRun*> earlier;  // the row that replaces it; null: none does
  std::vector<std::size_t> todo;           // the runs to be trained

  const std::string& name(std::size_t run) const { return runs[run].config.run; }
};

// Reads what the folders of all runs hold, or of this job alone. Throws Error like found_run and EarlierRuns::find.
void read_states(StudyState& state, std::optional<std::size_t> job = std::nullopt);

// The folder's state now: complete, with evaluation and settings of its own.
bool is_complete(const StudyRun& run);

// Whether the study wants interventions and the complete run has none of its last step in its folder.
bool lacks_interventions(const StudyState& state, std::size_t run);

}  // namespace sink
