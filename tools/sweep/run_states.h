// What there is of a study's run already: in its folder, where only a run of the same settings counts, or as a row of
// the <study>-runs.csv of runs that were made before or elsewhere, whose folders need not be here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/ablation.h"
#include "tools/report/run_reader.h"
#include "tools/sweep/study_runs.h"

namespace sink {

enum class RunStatus { missing, begun, complete, failed };

struct FoundRun {
  RunStatus status = RunStatus::missing;
  std::string reason;        // why it failed
  std::int64_t threads = 0;  // of one that was begun, which its bits depend on
};

// The settings in which a stored configuration differs from the wanted one, "heads = 4 instead of 8, ..."; "" where in
// none. Settings on which no value depends are not compared (threads, how often is measured, saved and shown), nor is
// the path of the data: its checksum is. Settings that an older program did not know have their default.
std::string differing_settings(const RunConfig& stored, const RunConfig& wanted);

// Throws Error (Exit::usage), naming the settings, where the folder holds a run of others; Exit::bad_input where the
// complete run was trained on other data than that of this checksum (asked for only then).
FoundRun found_run(const RunConfig& wanted, const std::function<std::string()>& data_checksum);

// <run>/failure.txt: that the run of these settings ended without a result, and why, in one line. It is not tried
// again by itself.
void store_failure(const RunConfig& run, const std::string& reason);

// Whether an error of this exit code is the run's own (diverged, out of memory, a bug) and not the machine's or the
// user's (a full disk, no such device, a folder in use), after which the same run may well succeed.
bool is_failure_of_run(Exit code);

// Rewrites the checkpoint of a complete run without what only resuming it needs.
void drop_optimizer_state(const std::string& run);

struct EarlierRun {
  report::Run run;
  std::string file;
  RunStatus status = RunStatus::begun;  // complete, failed, or begun: of no use
  RunConfig config = {};                // its settings; meaningless where it is only begun
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
  std::vector<bool> matched_;  // of rows_: a run of the study has its settings
};

// Whether a row replaces a run whose folder has this status: not where the run is complete; a row of a failure only
// where the folder has no failure of its own and the run is not to be tried again.
bool replaces_run(const EarlierRun& earlier, RunStatus own, bool retry);

}  // namespace sink
