// Trains what is to do of a study, beside whoever else does: other sweeps of the same folder, on this machine or on
// others (tools/sweep/job_claims.h).
#pragma once

#include "tools/sweep/job_claims.h"
#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_state.h"

namespace sink {

struct WorkEnd {
  int signal = 0;                   // that ended it, or 0
  int exit_code = 0;                // of the first run that ended without numbers here, other than diverged
  std::vector<std::size_t> others;  // runs that others still have
};

// Until nothing is left but what living others have; with `patient`, until they are done, too, where a run of this
// process failed: a launcher that sees it leave with a failure would end them. Says on stderr what became of each run.
WorkEnd work_on(StudyState& state, JobClaims& claims, const MachinePlan& plan, double lease, bool patient);

}  // namespace sink
