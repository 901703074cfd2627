#include "train/trainer.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "engine/io/build_info.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/reference_switch.h"
#include "engine/thread_start.h"
#include "eval/evaluation_json.h"
#include "train/dry_run.h"
#include "train/initial_model.h"
#include "train/interrupt.h"
#include "train/measure.h"
#include "train/progress.h"
#include "train/resume.h"
#include "train/run_folder.h"
#include "train/train_step.h"

namespace sink {
namespace {

class Trainer {
 public:
  Trainer(const RunConfig& config, const Ablation& ablation)
      : config_(config),
        ablation_(ablation),
        data_(make_data_source(config)),
        model_(make_run_model(config, ablation, data_->vocabulary())),
        optimizer_(model_->parameters(), config) {}

  int run() {
    if (config_.dry_run) return print_dry_run(config_, ablation_, *model_, *data_);
    folder_ = open_run_folder(config_);
    if (folder_.resume_from.empty())
      load_initial(config_, ablation_, data_.get(), *model_);
    else
      state_ = resume(folder_.resume_from, config_, ablation_, *data_, *model_, optimizer_);
    folder_.set_aside_older_run();  // not before all that this run reads was read
    write_file_atomically(folder_.config(), to_toml(config_));
    log_ = std::make_unique<RunLog>(folder_.metrics(), state_.step > 0 ? state_.step : -1);
    InterruptGuard listening;
    Progress progress(config_.steps, config_.log_every);
    for (const std::string& note : folder_.notes) progress.note("note: " + note);
    if (!log_->note().empty()) progress.note("note: " + log_->note());
    if (state_.step > 0)
      progress.note("going on from " + folder_.resume_from + ", step " + std::to_string(state_.step));
    start_ = std::chrono::steady_clock::now();
    while (state_.step < config_.steps) {
      StepRecord record = one_step();
      log_->write(record);
      progress.show(record);
      int signal = stop_requested();
      bool last = state_.step == config_.steps;
      if (last || signal || take_save_request() || state_.step % config_.checkpoint_every == 0) save();
      if (signal && !last) {
        progress.note("stopped by signal " + std::to_string(signal) + " after step " + std::to_string(state_.step) +
                      "; " + folder_.checkpoint() + " is saved: go on with --resume auto");
        return 128 + signal;
      }
      if (state_.skipped_in_a_row >= config_.nan_patience) stop_diverged();
    }
    finish();
    return 0;
  }

 private:
  StepRecord one_step() {
    std::int64_t step = state_.step + 1;
    auto before = std::chrono::steady_clock::now();
    StepResult result = train_step(*model_, optimizer_, *data_, config_, step, state_.updates + 1);
    auto after = std::chrono::steady_clock::now();
    state_.step = step;
    state_.updates += result.skipped ? 0 : 1;
    state_.skipped_in_a_row = result.skipped ? state_.skipped_in_a_row + 1 : 0;

    StepRecord record;
    record.step = step;
    record.tokens = step * config_.tokens_per_step();
    record.seconds = log_->seconds() + std::chrono::duration<double>(after - start_).count();
    // A running mean: single steps are at the mercy of the scheduler.
    double seconds = std::chrono::duration<double>(after - before).count();
    seconds_per_step_ = seconds_per_step_ > 0 ? 0.95 * seconds_per_step_ + 0.05 * seconds : seconds;
    record.tokens_per_second = static_cast<double>(config_.tokens_per_step()) / seconds_per_step_;
    record.learning_rate = result.learning_rate;
    record.train_loss = result.loss;
    record.grad_norm = result.gradient_norm;
    record.skipped = result.skipped;
    if (step == 1 || step % config_.eval_every == 0 || step == config_.steps)
      record.evaluation = record_of(measure(*model_, *data_, config_.eval_sequences, config_.batch, false));
    return record;
  }

  void save() {
    log_->sync();
    save_run(folder_.checkpoint(), config_, ablation_, *model_, optimizer_, *data_, state_);
    folder_.drop_older_run();
  }

  [[noreturn]] void stop_diverged() {
    save();
    fail("train",
         "the loss or gradient was not finite in " + std::to_string(state_.skipped_in_a_row) +
             " steps in a row (up to step " + std::to_string(state_.step) +
             "); the weights are those of the last finite step, saved in " + folder_.checkpoint() +
             ". Try a smaller --learning-rate or a longer --warmup.",
         Exit::diverged);
  }

  void finish() {
    Evaluation evaluation = measure(*model_, *data_, config_.eval_sequences, config_.batch, true);
    EvaluationContext context{
        .run = std::filesystem::path(folder_.path).filename().string(),
        .task = config_.task,
        .ablation = ablation_.name,
        .policies = ablation_.policies,
        .precision = config_.precision,
        .commit = build_commit(),
        .config_toml = to_toml(config_),
        .data_sha256 = data_->checksum(),
        .data = config_.data,
        .seed = config_.seed,
        .step = state_.step,
        .steps = config_.steps,
        .tokens = state_.step * config_.tokens_per_step(),
        .parameters = model_->parameters().count(),
        .token_text = [&](std::int32_t id) { return data_->token_text(id); },
    };
    write_file_atomically(folder_.evaluation(), evaluation_json(evaluation, context));
    print_folder();
  }

  // Whether anybody still listens does not matter to a run that is done and saved.
  void print_folder() const {
    std::string line = printable(folder_.path) + "\n";
    int error = write_all(STDOUT_FILENO, line.data(), line.size());
    if (error != 0 && error != EPIPE && error != EBADF) fail_io("write", "the output (stdout)", error);
  }

  RunConfig config_;
  Ablation ablation_;
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<LanguageModel> model_;
  Optimizer optimizer_;
  RunFolder folder_;
  RunState state_;
  std::unique_ptr<RunLog> log_;
  std::chrono::steady_clock::time_point start_;
  double seconds_per_step_ = 0;
};

}  // namespace

int train_main(int argc, char** argv, const Ablation& ablation) {
  if (argc > 1 && std::string(argv[1]) == "init") return init_main(argc, argv, ablation);
  std::string program = "train_" + ablation.name;
  return run_program(program.c_str(), [&] {
    RunConfig config;
    if (!parse_run_config(argc, argv, ablation, config)) return 0;
    start_threads(config.threads);
    use_reference() = config.reference;
    return Trainer(config, ablation).run();
  });
}

}  // namespace sink
