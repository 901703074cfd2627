// Runs jobs of a study, each in its own process. A job is a run: its training, and then its interventions where
// the study has them. What a job leaves in its run folder is all that the tables are made of (study_output.h).
#pragma once

#include <optional>

#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_state.h"

namespace sink {

struct JobsEnd {
  int signal = 0;     // that stopped them, or 0
  int exit_code = 0;  // of the first run that ended without a result, other than diverged
};

// Runs everything that is to be done, after read_states, or what is to be done of this job alone. A job alone is
// refused where another process writes into its run folder; of all jobs, one whose folder is in use first waits a
// minute: a sweep that was killed leaves runs that still save themselves. Prints the result of each run on stderr.
JobsEnd run_jobs(StudyState& state, const MachinePlan& plan, std::optional<std::size_t> job = std::nullopt);

// Trains a job as one of several ranks that run_jobs has started, and returns the exit code.
int train_as_rank(const RunConfig& config, const Ablation& ablation);

}  // namespace sink
