// <run>/interventions.json: what the loss of a study's run becomes without its first token's share
// (eval/interventions/interventions.h).
#pragma once

#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

// Whether the complete run has them already, of its last step.
bool has_interventions(const RunConfig& run);

// Measures them on the run's checkpoint, with one thread. Throws Error.
void store_interventions(const RunConfig& run, const Ablation& ablation);

}  // namespace sink
