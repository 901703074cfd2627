#include "tools/sweep/sweep_job.h"

#include <chrono>

#include "engine/check.h"
#include "engine/data/bigram_backcopy.h"
#include "engine/io/build_info.h"
#include "train/training_run.h"

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

// What a result says of the steps of its run.
class ResultKeeper : public TrainingObserver {
 public:
  explicit ResultKeeper(SweepResult& result) : result_(result) {}

  void on_step(TrainingRun& run, const StepResult& step, const Evaluation* evaluation) override {
    result_.steps = step.step;
    if (step.skipped) {
      if (result_.skipped++ == 0) result_.first_skipped = step.step;
    } else if (step.step > run.config().warmup && step.loss > result_.worst_loss) {
      result_.worst_loss = step.loss;
      result_.worst_step = step.step;
    }
    bool of_curve = step.step % run.config().eval_every == 0 || step.step == run.config().steps;
    if (evaluation && of_curve) keep(*evaluation);  // the one after the first step is not
  }

  void keep(const Evaluation& evaluation) {
    sink::keep(evaluation, result_);
    result_.curve.push_back({result_.steps, result_.loss, result_.alpha_1, result_.alpha_1_raw});
  }

 private:
  SweepResult& result_;
};

void train(const RunConfig& config, const Ablation& ablation, SweepResult& result) {
  auto task = std::make_unique<BigramBackcopy>(config);
  result.entropy_floor = task->entropy_floor();
  result.best_loss = task->best_loss(task->validation_batch(0, task->validation_sequences()));

  TrainingRun run(config, ablation, std::move(task));
  run.evaluation_batch = config.eval_sequences;
  ResultKeeper keeper(result);
  result.given_up = run.train({&keeper}) == TrainingRun::Ending::diverged;
  bool measured = !result.curve.empty() && result.curve.back().step == result.steps;
  if (result.given_up && !measured) keeper.keep(run.evaluate());
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
