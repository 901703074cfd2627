// Learning rate of a step: linear warm-up from 0, then constant or cosine (the text of Gu et al. 2025 says
// cosine, its configurations run constant).
#pragma once

#include "train/run_config.h"

namespace sink {

// step counts from 1. Warm-up reaches the full rate at step `warmup`; cosine ends at min_learning_rate at the last
// step. With schedule_counts "micro-batches" every step is 1 / accumulate earlier, as in the released code, which sets
// the rate by the number of micro-batches before a step's last one: LR (step - 1 / accumulate) / warmup.
double learning_rate_at(const RunConfig& config, std::int64_t step);

}  // namespace sink
