// Saving a run and going on with it, bit for bit.
#pragma once

#include "engine/data/data_source.h"
#include "model/model_checkpoint.h"
#include "train/optimizer.h"
#include "train/run_config.h"

namespace sink {

// Where a run stands. Data and learning rate are functions of the step, so this and the tensors are all there is.
struct RunState {
  std::int64_t step = 0;              // steps taken, skipped ones included
  std::int64_t updates = 0;           // of them, updates of the weights
  std::int64_t skipped_in_a_row = 0;  // at the end
};

void save_run(const std::string& path, const RunConfig& config, const Ablation& ablation, const LanguageModel& model,
              Optimizer& optimizer, const DataSource& data, const RunState& state);

// Restores everything save_run wrote. Refuses a checkpoint of other policies, one whose configuration differs in
// anything that the numbers depend on, naming the first difference (Exit::usage), and one made on other data
// (Exit::bad_input; engine/data/same_data.h).
RunState resume(const std::string& path, const RunConfig& config, const Ablation& ablation, const DataSource& data,
                LanguageModel& model, Optimizer& optimizer);

}  // namespace sink
