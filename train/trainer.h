// Training from the first step to the final checkpoint: what train_<ablation> does. (`train_<ablation> init`:
// train/initial_model.h.)
#pragma once

#include "model/ablation.h"

namespace sink {

// The whole program; returns its exit code.
int train_main(int argc, char** argv, const Ablation& ablation);

}  // namespace sink
