// Runs jobs of a study, each in its own process. A job is a run: its training, then its interventions if the study has
// them. The tables are made from what the jobs leave in their run folders (study_output.h).
#pragma once

#include <optional>

#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_state.h"

namespace sink {

struct JobsResult {
  int signal = 0;     // that stopped the jobs, or 0
  int exit_code = 0;  // of the first run that ended without a result, other than diverged
};

// Runs all jobs of state.todo, or only this one, and prints the result of each on stderr. Call read_states first. If
// another process writes into a run folder, a single job is refused; a job of many waits up to a minute, because the
// runs of a killed sweep still save themselves.
JobsResult run_jobs(StudyState& state, const MachinePlan& plan, std::optional<std::size_t> job = std::nullopt);

// Trains a job as one of the ranks that run_jobs started, and returns the exit code.
int train_as_rank(const RunConfig& config, const Ablation& ablation);

}  // namespace sink
