// sweep --dry-run: the runs of a study, and how long they would take on this machine.
#pragma once

#include <vector>

#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_runs.h"

namespace sink {

// One line an arm on stdout: its settings, tokens, seconds a step (measured with one run of each shape, as many beside
// each other as the plan has) and hours; below, what all that is to do takes.
void print_dry_run_of_study(const StudyFile& study, const std::vector<StudyArm>& arms,
                            const std::vector<StudyRun>& runs, const std::vector<std::size_t>& todo,
                            const MachinePlan& plan);

}  // namespace sink
