// The table of a sweep: one line an ablation, its seeds together, beside what the study found at its scale.
#pragma once

#include <string>
#include <vector>

#include "tools/sweep/sweep_job.h"

namespace sink {

// What went wrong in a job, "" if nothing did: steps skipped by the NaN guard, a loss that never left ln V or rose
// above it, or that ended far above `usual_loss`, the median over all ablations of that seed.
std::string what_went_wrong(const SweepResult& result, double usual_loss);

// Markdown, its columns aligned; results in the order the lines should have, those of one ablation together. `missing`
// jobs have no result.
std::string sweep_table(const std::vector<SweepResult>& results, const RunConfig& recipe,
                        const std::vector<std::string>& missing);

}  // namespace sink
