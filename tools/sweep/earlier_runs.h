// Runs of a study that were made before or elsewhere, and whose folders need not be here: the rows of a
// <study>-runs.csv.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/sweep/run_states.h"

namespace sink {

struct EarlierRun {
  report::Run run;
  std::string file;
  RunStanding state = RunStanding::begun;  // complete, failed, or begun: of no use
  RunConfig config = {};                   // its settings; meaningless where it is only begun
};

class EarlierRuns {
 public:
  EarlierRuns() = default;
  // Throws Error (Exit::bad_input) naming file, line and column of what is no row of such a file.
  explicit EarlierRuns(const std::vector<std::string>& files);

  // The row that has the settings of `wanted` (differing_settings), and its data where the row has the checksum, which
  // is asked for only then: the first that is complete, else the first that failed; null where there is none.
  const EarlierRun* find(const RunConfig& wanted, const std::function<std::string()>& data_checksum);

  // After all runs of the study were asked for, a line a file: "F: 17 of 30 rows are runs of this study; 12 of 30 rows
  // are of other settings or data; 1 of 30 rows never finished".
  std::vector<std::string> notes() const;

 private:
  std::vector<std::string> files_;
  std::vector<EarlierRun> rows_;
  std::vector<bool> met_;  // of rows_: a run of the study has its settings
};

// Whether a row stands for a run in whose folder there is this: not where the run is complete; a failure, where the
// folder has none of its own and it is not to be tried again.
bool stands_for(const EarlierRun& earlier, RunStanding own, bool retry);

}  // namespace sink
