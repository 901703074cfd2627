// What a project that links Sinklab does: defines a design, trains it for three steps, and prints the losses and
// alpha_1.
#include <cstdio>

#include "autograd/tape.h"
#include "engine/data/data_source.h"
#include "engine/ops/optimizer/update.h"
#include "eval/sink/evaluation.h"
#include "model/ablations.h"
#include "model/transformer.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace mine {

// op_sigmoid_none by another name, so that the test can compare with train_op_sigmoid_none.
struct sigmoid : sink::ablations::baseline {
  using Attention = sink::Sigmoid;
};

int train() {
  sink::RunConfig config;  // the settings of train_<ablation>
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 2;
  config.width = 32;
  config.feed_forward = 48;
  config.context = 24;
  config.batch = 4;
  config.steps = 3;
  config.warmup = 0;
  config.eval_sequences = 8;

  const auto data = sink::make_data_source(config, config.context);
  const sink::Sizes sizes = sink::model_sizes(config, data->vocabulary());
  sink::Transformer<sigmoid> model(sizes, sink::InitScheme::torch, config.seed, sink::DType::F32);
  const auto optimizer = sink::make_optimizer(model.parameters(), config);
  for (std::int64_t step = 1; step <= config.steps; ++step) {
    const sink::Tensor scalars = sink::make_step_scalars(sink::learning_rate_at(config, step), step);
    sink::Tensor loss_sum = sink::loss_of(scalars), squared_norm = sink::squared_norm_of(scalars);
    sink::Tape tape;
    const sink::Var loss = model.loss(data->train_batch(step - 1, 0, config.batch));
    tape.backward(loss);
    loss_sum.copy_from(loss.value());
    optimizer->sum_squared_gradients(squared_norm);
    optimizer->step(scalars);
    std::printf("train_loss %.9g\n", sink::host_step_scalars(scalars).loss);
  }
  const sink::Batch validation = data->validation_batch(0, data->validation_sequences());
  const sink::Evaluation evaluation = sink::evaluate(model, validation, config.batch, false);
  std::printf("val_loss %.9g\nalpha_1 %.9g\n", evaluation.loss, evaluation.proxy.alpha_1());
  return 0;
}

}  // namespace mine

int main() { return mine::train(); }
