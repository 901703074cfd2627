// What a study comes to: its files <out>/<study>.md, .csv, -runs.csv, .svg and .html, with the table on stdout, and for
// `--collect` which jobs have no result, why, and how to run them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/sweep/study_state.h"

namespace sink {

class StudyOutput {
 public:
  StudyOutput(const std::string& folder, const std::string& study) : stem_(folder + "/" + study) {}

  // Before any work: throws Error (Exit::usage) where a file that `sweep` did not make would be replaced.
  void require_free(bool force) const;
  // Throws Error (Exit::usage) where a file that is read is one that will be written: rows of it that are no runs of
  // the study would be lost.
  void require_no_input(const std::vector<std::string>& files) const;
  // Writes them as the folders and rows are now; without Chart.js on the system no page, with a note. The page has the
  // runs of folders alone.
  void write(const StudyState& state) const;

 private:
  std::string stem_;
};

// Jobs of a study after read_states; a job that is in neither list is complete.
struct JobsWithoutResult {
  std::vector<std::size_t> missing;  // not run, not finished, or without the interventions that the study wants
  std::vector<std::size_t> failed;   // ended without a result, or start from a run that did
};
JobsWithoutResult jobs_without_result(const StudyState& state);

// Prints on stderr how many jobs are complete, each of the others with its reason, and the commands that run them.
void print_jobs_without_result(const StudyState& state, const JobsWithoutResult& jobs);

// "0-2,5,7-9" of ascending indices: what sbatch --array takes.
std::string index_ranges(const std::vector<std::size_t>& indices);

// A word as a shell takes it: in quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace sink
