// One optimiser step: gradients of all micro-batches, the NaN guard, clipping and the update.
#pragma once

#include "engine/data/data_source.h"
#include "model/language_model.h"
#include "train/optimizer.h"
#include "train/run_config.h"

namespace sink {

struct StepResult {
  double loss = 0;  // mean over the step's targets, before the update
  double gradient_norm = 0;
  double learning_rate = 0;
  bool skipped = false;  // loss or gradient was NaN or infinite: nothing was fed to the optimiser
};

// step counts from 1 and chooses the data and the learning rate; `update` counts the updates made, this one included.
StepResult train_step(LanguageModel& model, Optimizer& optimizer, const DataSource& data, const RunConfig& config,
                      std::int64_t step, std::int64_t update);

}  // namespace sink
