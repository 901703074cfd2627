#include "train/step_report.h"

namespace sink {

void StepReport::on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) {
  double seconds = result.seconds;
  auto tokens_per_step = run.config().tokens_per_step();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  // The step a run resumes with was timed by a process that is gone: it has the pace of the line before it.
  if (seconds <= 0)
    seconds = log_.tokens_per_second() > 0 ? static_cast<double>(tokens_per_step) / log_.tokens_per_second() : elapsed;
  else
    seconds_per_step_ = seconds_per_step_ > 0 ? 0.95 * seconds_per_step_ + 0.05 * seconds : seconds;
  const double pace = seconds_per_step_ > 0 ? seconds_per_step_ : seconds;
  StepRecord record{.step = result.step,
                    .tokens = result.step * tokens_per_step,
                    .seconds = log_.seconds() + elapsed,
                    .tokens_per_second = static_cast<double>(tokens_per_step) / pace,
                    .learning_rate = result.learning_rate,
                    .train_loss = result.loss,
                    .grad_norm = result.gradient_norm,
                    .skipped = result.skipped,
                    .evaluation = {},
                    .key_alpha = {}};
  if (evaluation) record.evaluation = *evaluation;
  if (const std::int64_t every = run.config().key_alpha_every; every > 0 && result.step % every == 0)
    record.key_alpha = run.key_alpha();
  log_.write(record);
  progress_.show(record);
}

}  // namespace sink
