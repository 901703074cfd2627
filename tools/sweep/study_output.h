// The output of `sweep`: the files of a study, <out>/<study>-runs.csv, .json, and what study_tables.h makes of them;
// and what it prints: studies, jobs, their times, and the jobs without a result.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_state.h"

namespace sink {

class StudyOutput {
 public:
  StudyOutput(const std::string& folder, const std::string& study) : folder_(folder), stem_(folder + "/" + study) {}

  // Throws Error (Exit::usage) if a file that `sweep` did not make would be replaced. Called before any work.
  void require_free(bool force) const;
  // Throws Error (Exit::usage) if an input file would be overwritten, which would lose rows of other studies.
  void require_no_input(const std::vector<std::string>& files) const;
  // Throws Error (Exit::usage) if <study>-runs.csv has complete runs that the new one would not have: those without a
  // folder and without a row of --earlier that this call does not train. Call read_states first.
  void require_rows_kept(const StudyState& state) const;
  // Writes the files from the current folders and rows.
  void write(const StudyState& state, bool force) const;

 private:
  std::string folder_, stem_;
};

// Prints on stderr how many jobs are complete, each of the others with its reason, and the commands that run them. Call
// read_states first. Returns whether any job is missing: not run, not finished, or without the interventions that the
// study measures. Failed jobs, and jobs that start from one, are not missing.
bool print_jobs_without_result(const StudyState& state);

// "0-2,5,7-9" for ascending indices, as sbatch --array takes them.
std::string index_ranges(const std::vector<std::size_t>& indices);

// A word quoted for a shell, if necessary.
std::string shell_word(const std::string& word);

// Prints every study of a folder on stdout: file, question, section of the paper, hours at the size cpu. Returns 0.
// Throws Error (Exit::usage) if the folder is empty text: there is none.
int list_studies(const std::string& folder);

// `--list`: the jobs as CSV on stdout, one line each: index, run (the name of the table), ablation, seed, after (the
// index of the job whose checkpoint it starts from, or empty) and folder.
void list_jobs(const StudyState& state);

// `--dry-run`: one line per group on stdout: steps, tokens, time per step (measured with one run of each kind, as many
// at once as the plan has) and hours; then the time of all runs that are to be trained.
void print_dry_run(const StudyState& state, const MachinePlan& plan);

}  // namespace sink
