// A study with everything that is decided before its first run begins: which runs there are, what stands of each, and
// which are to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/sweep/earlier_runs.h"
#include "tools/sweep/run_states.h"
#include "tools/sweep/study_file.h"
#include "tools/sweep/study_runs.h"

namespace sink {

struct StudyState {
  StudyFile study;
  std::vector<StudyArm> arms;
  std::vector<StudyRun> runs;
  bool retry = false;  // those that failed
  int ranks = 1;       // of each run
  EarlierRuns earlier_runs;
  // As of the last look, of each run:
  std::vector<FoundRun> found;
  std::vector<const EarlierRun*> earlier;  // the row that stands for it, null: none does
  std::vector<std::size_t> todo;           // of runs: those to be trained

  const std::string& name(std::size_t run) const { return runs[run].config.run; }
};

// Throws Error like found_run and EarlierRuns::find.
void look_around(StudyState& state);

// As it stands now: complete, with the numbers of its own settings.
bool is_complete(const StudyRun& run);

// The name under which sweeps agree who has it: its folder's.
std::string claim_of_run(const StudyRun& run);

}  // namespace sink
