#include "train/train_step.h"

#include <cmath>

#include "autograd/tape.h"
#include "train/schedule.h"

namespace sink {

StepResult train_step(LanguageModel& model, Optimizer& optimizer, const DataSource& data, const RunConfig& config,
                      std::int64_t step, std::int64_t update) {
  StepResult result;
  result.learning_rate = learning_rate_at(config, step);
  for (std::int64_t micro = 0; micro < config.accumulate; ++micro) {
    Batch batch = data.train_batch(step - 1, micro, config.batch);
    Tape tape;
    Var loss = model.loss(batch.tokens_BT, batch.targets_BT, 1 / static_cast<double>(config.accumulate));
    result.loss += loss.value().item();
    tape.backward(loss);
  }
  result.gradient_norm = optimizer.gradient_norm();
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  if (result.skipped)
    optimizer.skip();
  else
    optimizer.step(result.learning_rate, result.gradient_norm, update);
  return result;
}

}  // namespace sink
