// What `sweep` prints without training anything: the studies of a folder, the jobs of a study, and how long they take.
#pragma once

#include <string>
#include <vector>

#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_runs.h"

namespace sink {

// Every *.toml right inside the folder: name, question, section of the paper, runs and hours at the size cpu, on
// stdout. Returns 0. Throws Error (Exit::usage) where there is no such folder.
int list_studies(const std::string& folder);

// `--list`: the jobs as CSV on stdout, a line each after a header: index, run (ablation and settings, as in the
// tables), ablation, seed, after (the index of the job whose checkpoint it starts from, or empty) and folder.
void list_jobs(const std::vector<StudyGroup>& groups, const std::vector<StudyRun>& runs);

// `--dry-run`: one line a group on stdout: its settings, tokens, seconds a step (measured with one run of each shape,
// as many at once as the plan has) and hours; below, what all that is to do takes.
void print_dry_run_of_study(const StudyFile& study, const std::vector<StudyGroup>& groups,
                            const std::vector<StudyRun>& runs, const std::vector<std::size_t>& todo,
                            const MachinePlan& plan);

}  // namespace sink
