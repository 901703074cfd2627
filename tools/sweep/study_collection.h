// `--collect`: which jobs of a study have no result, why, and how to run them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/sweep/study_state.h"

namespace sink {

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
