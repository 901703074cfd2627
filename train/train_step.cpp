#include "train/train_step.h"

#include <cmath>

#include "autograd/tape.h"
#include "engine/ops/add/add.h"
#include "train/schedule.h"

namespace sink {

StepResult train_step(LanguageModel& model, Optimizer& optimizer, const DataSource& data, const RunConfig& config,
                      std::int64_t step, std::int64_t update) {
  StepResult result;
  result.learning_rate = learning_rate_at(config, step);
  Tensor numbers = Tensor::zeros({2}, DType::F64);  // the loss and the sum of squared gradients, read back at once
  Tensor loss_sum = numbers.rows(0, 1), squared_norm = numbers.rows(1, 2);
  for (std::int64_t micro = 0; micro < config.accumulate; ++micro) {
    Batch batch = data.train_batch(step - 1, micro, config.batch);
    Tape tape;
    Var loss = model.loss(batch.tokens_BT, batch.targets_BT, 1 / static_cast<double>(config.accumulate));
    add_into(loss_sum, loss.value().to(DType::F64));
    tape.backward(loss);
  }
  optimizer.sum_squared_gradients(squared_norm);
  result.loss = numbers.item(0);
  result.gradient_norm = std::sqrt(numbers.item(1));
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  if (result.skipped)
    optimizer.skip();
  else
    optimizer.step(result.learning_rate, result.gradient_norm, update);
  return result;
}

}  // namespace sink
