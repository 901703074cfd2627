#include "tools/sweep/sweep_job.h"

#include <chrono>

#include "engine/check.h"
#include "engine/data/bigram_backcopy.h"
#include "engine/io/build_info.h"
#include "train/measure.h"
#include "train/train_step.h"

namespace sink {
namespace {

void keep(const Evaluation& e, SweepResult& result) {
  result.loss = e.loss;
  result.alpha_1 = e.proxy.alpha_1();
  result.alpha_1_raw = e.raw.alpha_1();
  result.alpha_1_max = e.alpha_1_max;
  result.sink_1 = e.proxy.sink_k[kStudyEpsilon].front();
  result.sink_1_raw = e.raw.sink_k[kStudyEpsilon].front();
  result.has_star = e.proxy.star.has_value();
  if (result.has_star) {
    result.alpha_star = e.proxy.star->alpha;
    result.alpha_star_raw = e.raw.star->alpha;
    result.sink_star = e.proxy.star->sink[kStudyEpsilon];
  }
  result.row_mass = e.row_mass;
  result.first_value_norm_ratio = e.first_value_norm_ratio;
}

void train(const RunConfig& config, const Ablation& ablation, SweepResult& result) {
  BigramBackcopy data(config);
  Sizes sizes{.layers = config.layers,
              .heads = config.heads,
              .width = config.width,
              .feed_forward = config.feed_forward,
              .context = config.context,
              .vocabulary = data.vocabulary(),
              .kv_heads = config.kv_heads,
              .window = config.window,
              .prefix = config.prefix};
  auto model = ablation.make_model(sizes, init_scheme(config.init), config.seed, dtype_named(config.precision));
  Optimizer optimizer(model->parameters(), config);
  result.entropy_floor = data.entropy_floor();
  result.best_loss = data.best_loss(data.validation_batch(0, data.validation_sequences()));

  std::int64_t skipped_in_a_row = 0;
  for (std::int64_t step = 1; step <= config.steps && !result.given_up; ++step) {
    StepResult made = train_step(*model, optimizer, data, config, step, step - result.skipped);
    result.steps = step;
    skipped_in_a_row = made.skipped ? skipped_in_a_row + 1 : 0;
    result.given_up = skipped_in_a_row >= config.nan_patience;
    if (made.skipped) {
      if (result.skipped++ == 0) result.first_skipped = step;
    } else if (step > config.warmup && made.loss > result.worst_loss) {
      result.worst_loss = made.loss;
      result.worst_step = step;
    }
    if (step % config.eval_every == 0 || step == config.steps || result.given_up) {
      keep(measure(*model, data, config.eval_sequences, config.eval_sequences, false), result);
      result.curve.push_back({step, result.loss, result.alpha_1, result.alpha_1_raw});
    }
  }
}

}  // namespace

RunConfig sweep_recipe() {
  RunConfig recipe;
  recipe.task = "bigram-backcopy";
  recipe.layers = 1;
  recipe.heads = 2;
  recipe.width = recipe.feed_forward = 64;
  recipe.context = 64;
  recipe.batch = 16;
  recipe.steps = 6000;
  recipe.learning_rate = 3e-2;  // 2e-2 is too little for the sink of op_sigmoid_norm
  recipe.schedule = "cosine";
  recipe.warmup = 100;
  recipe.beta2 = 0.99;
  recipe.weight_decay = 0.01;
  recipe.clip = 1;
  recipe.threads = 1;
  recipe.eval_every = 600;
  recipe.eval_sequences = 200;
  return recipe;
}

RunConfig job_config(RunConfig recipe, const std::string& ablation, std::uint64_t seed) {
  recipe.seed = seed;
  if (ablation == "bias_k_d64") recipe.heads = 1;
  return recipe;
}

SweepResult train_job(const RunConfig& config, const Ablation& ablation) {
  SweepResult result;
  result.ablation = ablation.name;
  result.seed = config.seed;
  result.settings = to_toml(config);
  result.commit = build_commit();
  auto start = std::chrono::steady_clock::now();
  try {
    train(config, ablation, result);
  } catch (const Error& error) { result.error = error.what(); }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace sink
