// What `sweep` hands to the program that makes a study's tables and figure, train/studies/science/tables.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/sweep/study_state.h"

namespace sink {

// A job as its folder or an earlier table describes it.
struct StudyOutcome {
  std::optional<report::Run> run;                  // none: not begun
  std::string problem;                             // why it is not complete; empty: it is
  std::string file;                                // the earlier table whose row replaces it; empty: its folder
  std::optional<report::Measurement> before = {};  // of the checkpoint from which it started, on the new data
};

// <study>.json: the study, its groups and its jobs, in the order of the state; a job with a run has the index of its
// row in <study>-runs.csv, whose rows are the runs of `outcomes` in their order.
std::string study_json(const StudyState& state, const std::vector<StudyOutcome>& outcomes);

// Lets tables.py write <study>.md, .csv, .svg and .html next to the file and print the table. It is that of the
// checkout around this program, wherever the user is. Without it, or without Python, prints the command instead. Throws
// Error with its exit code if it fails.
void make_tables(const std::string& file, bool force);

}  // namespace sink
