// BatchTrainer: steps of training on batches that the caller gives, with the optimizers and settings of
// train_<ablation>.
#pragma once

#include <memory>
#include <string>

#include "model/all_ablations.h"
#include "train/optimizer.h"
#include "train/run_config.h"

namespace sink::python {

// The settings in TOML, checked for this ablation. Throws Error like run_config_from_toml, require_read and
// require_consistent, and for settings of a run.
RunConfig settings_of(const std::string& toml, const Ablation& ablation);

class BatchTrainer {
 public:
  // Keeps a reference to the model, whose parameters must have values of their own.
  BatchTrainer(LanguageModel& model, const RunConfig& config);

  struct Step {
    double loss, gradient_norm, learning_rate;
  };
  // One update of the weights. Where loss or gradient is not finite, the weights stay as they are. Throws Error like
  // LanguageModel::loss; the gradients are dropped then.
  Step step(const Batch& batch);
  std::int64_t steps() const { return steps_; }
  std::int64_t tokens() const { return tokens_; }  // of all steps

 private:
  LanguageModel& model_;
  RunConfig config_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t steps_ = 0, updates_ = 0, tokens_ = 0;
};

}  // namespace sink::python
