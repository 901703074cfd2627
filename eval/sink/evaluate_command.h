// What eval_<ablation> does: subcommands that measure a checkpoint, or explain one row of its attention.
#pragma once

#include "model/ablation.h"

namespace sink {

// The whole program; returns its exit code.
int eval_main(int argc, char** argv, const Ablation& ablation);

}  // namespace sink
