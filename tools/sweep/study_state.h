// A study with all that is decided before its first run starts: its runs, which of them are complete already, and which
// are to be trained. A run is complete if its folder or a row of an earlier <study>-runs.csv has the same settings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/sweep/study_file.h"
#include "tools/sweep/study_runs.h"

namespace sink {

enum class RunStatus { missing, begun, complete, failed };

struct FoundRun {
  RunStatus status = RunStatus::missing;
  std::string reason;        // of a failure
  std::int64_t threads = 0;  // of a run that was started; its results depend on them
};

// The settings in which a stored configuration differs from the wanted one, "heads = 4 instead of 8, ..."; "" if none.
// The policies of its ablation are compared where both have them: its struct may have changed.
// Ignores settings on which no result depends (threads, how often is evaluated, saved and logged; onsets, which depend
// on how often is evaluated, are left out of the tables) and the path of the data, whose checksum is compared instead.
// Settings unknown to older programs have their default.
std::string differing_settings(const RunConfig& stored, const RunConfig& wanted);

// What the folder of a run holds. Throws Error (Exit::usage), naming the settings, if it holds a run with others;
// Exit::bad_input if its evaluation.json is not its own (require_own_measurement), or if the complete run was trained
// on data with another checksum (computed only then; not checked without the function).
FoundRun found_run(const RunConfig& wanted, const std::function<std::string()>& data_checksum = {});

// Throws Error (Exit::bad_input), naming what differs, unless `measured`, read from `file`, is what the training of
// `run` measured: evaluation.json of another run, or one that `eval_<ablation> sink` wrote with another input or
// length, must not enter a study.
void require_own_measurement(const report::Run& measured, const std::string& file, const RunConfig& run);

// Writes <run>/failure.txt: the run with these settings failed, and why, in one line. It is not retried automatically.
void store_failure(const RunConfig& run, const std::string& reason);

struct EarlierRun {
  report::Run run;
  std::string file;
  RunStatus status = RunStatus::begun;  // complete, failed, or begun, which is not used
  RunConfig config = {};                // undefined if only begun
  // False: measured on another input, data, context, precision or number of sequences, or with edited positions.
  bool is_of_training = true;
  // With the settings of a run of the study: it may replace the run, lacks interventions, or started from other
  // parameters.
  bool matched = false, lacking = false, other_start = false;
};

class EarlierRuns {
 public:
  EarlierRuns() = default;
  // Throws Error (Exit::bad_input) with file, line and column for what is not a row of such a file.
  explicit EarlierRuns(const std::vector<std::string>& files);

  // The row with the settings of `wanted` (differing_settings), what training measured at its end and, if the row has
  // their checksums, its data and the parameters that it started from: the first complete row, else the first failed
  // one; null if there is none. With `interventions` a complete row without their effects is none. `start_checksum`
  // returns "" where the start is not known.
  const EarlierRun* find(const RunConfig& wanted, const std::function<std::string()>& data_checksum,
                         bool interventions = false, const std::function<std::string()>& start_checksum = {});

  // The checksum of the rows that were trained on a folder of this name; "" if there are none or they differ.
  std::string checksum_of(const std::string& data) const;

  // One line per file, valid after find() was called for all runs of the study: "F: 17 of 30 rows are runs of this
  // study; 12 of 30 rows are of other settings, data or input; 1 of 30 rows never finished".
  std::vector<std::string> notes() const;

 private:
  std::vector<std::string> files_;
  std::vector<EarlierRun> rows_;
};

// Whether a row replaces a run whose folder has this status. It never replaces a complete run. A failed row replaces
// only a run whose folder holds no failure itself and that is not to be retried.
bool replaces_run(const EarlierRun& earlier, RunStatus own, bool retry);

struct StudyState {
  StudyFile study;
  std::string size;  // cpu or gpu
  std::vector<StudyGroup> groups;
  std::vector<StudyRun> runs;  // job N is runs[N]
  bool retry = false;          // train failed runs again
  bool collects = false;       // trains nothing, so it may lack the tokens of its data (read_states)
  int ranks = 1;               // per run
  // The program and the options with which another process gets the same jobs under the same indices.
  std::vector<std::string> command;
  EarlierRuns earlier_runs;
  // Set by read_states, for each run:
  std::vector<FoundRun> found;
  std::vector<const EarlierRun*> earlier;  // the row that replaces it, or null
  std::vector<std::size_t> todo;           // the runs to be trained

  const std::string& name(std::size_t run) const { return runs[run].config.run; }
};

// Reads the folders of all runs, or of this job only. Where a study that trains nothing lacks the tokens of a run, the
// data of earlier rows are known by the name of their folder, with a note on stderr. Throws Error like found_run
// and EarlierRuns::find, and (Exit::bad_input) for a complete run that started from other parameters than those that
// its start has now.
void read_states(StudyState& state, std::optional<std::size_t> job = std::nullopt);

// A failed run that is retried: its folder is kept aside, and it begins at its first step.
void start_again(RunConfig& config);

// Whether the folder holds the complete run now.
bool is_complete(const StudyRun& run);

// Whether the study measures interventions and the complete run has none of its last step.
bool lacks_interventions(const StudyState& state, std::size_t run);

// Whether the study keeps parameters only and the complete run has its optimizer state: a sweep was killed before it
// removed that.
bool keeps_optimizer_state(const StudyState& state, std::size_t run);

}  // namespace sink
