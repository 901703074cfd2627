#include "train/trainer.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "engine/implementation.h"
#include "engine/io/build_info.h"
#include "engine/io/cpu_name.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/precision.h"
#include "engine/thread_start.h"
#include "eval/compute_options.h"
#include "eval/evaluation_json.h"
#include "train/birth_checkpoints.h"
#include "train/data_use.h"
#include "train/dry_run.h"
#include "train/initial_model.h"
#include "train/interrupt.h"
#include "train/memory_advice.h"
#include "train/resume.h"
#include "train/run_folder.h"
#include "train/step_report.h"
#include "train/tensorboard_log.h"

namespace sink {
namespace {

// Saves the run in its folder.
struct CheckpointWriter : TrainingObserver {
  const RunFolder& folder;
  explicit CheckpointWriter(const RunFolder& folder) : folder(folder) {}
  void on_checkpoint(TrainingRun& run) override {
    save_run(folder.checkpoint(), run);
    folder.drop_older_run();
  }
};

[[noreturn]] void fail_diverged(const TrainingRun& run, const RunFolder& folder) {
  fail("train",
       "the loss or gradient was not finite in " + std::to_string(run.state().skipped_in_a_row) +
           " steps in a row (up to step " + std::to_string(run.state().step) +
           "); the weights are those of the last finite step, saved in " + folder.checkpoint() +
           ". Try a smaller --learning-rate or a longer --warmup.",
       Exit::diverged);
}

// What is measured of the model as it is, with maps, under that name of the run.
Evaluation write_evaluation(TrainingRun& run, const std::string& name, const std::string& path) {
  const RunConfig& config = run.config();
  EvaluationContext context{
      .run = name,
      .task = config.task,
      .ablation = run.ablation().name,
      .policies = run.ablation().policies,
      .precision = config.precision,
      .device = description_of(device_named(config.device)),
      .commit = build_commit(),
      .config_toml = to_toml(config),
      .machine = cpu_name(),
      .data_sha256 = run.data().checksum(),
      .initial_sha256 = run.state().initial_sha256,
      .data = config.data,
      .seed = config.seed,
      .step = run.state().step,
      .steps = config.steps,
      .tokens = run.state().step * config.tokens_per_step(),
      .parameters = run.model().parameters().count(),
      .domains = run.data().domains(),
      .token_text = [&](std::int32_t id) { return run.data().token_text(id); },
  };
  Evaluation evaluation = run.evaluate(/*with_maps=*/true);
  write_file_atomically(path, evaluation_json(evaluation, context));
  return evaluation;
}

// A fine-tuned model is compared with what it was: that is measured before the first step, and returned as a line.
std::string measured_before(TrainingRun& run, const std::string& name, const RunFolder& folder) {
  if (run.config().initial.empty() || run.state().step > 0) return "";
  StepRecord record{.evaluation = record_of(write_evaluation(run, name + ", before", folder.evaluation_before()))};
  return evaluation_line(record);
}

// Whether anybody still listens does not matter to a run that is done and saved.
void print_folder(const RunFolder& folder) {
  std::string line = printable(folder.path) + "\n";
  int error = write_all(STDOUT_FILENO, line.data(), line.size());
  if (error != 0 && error != EPIPE && error != EBADF) fail_io("write", "the output (stdout)", error);
}

TrainingRun made_run(const RunConfig& config, const Ablation& ablation) {
  try {
    return TrainingRun(config, ablation);
  } catch (const OutOfMemory& error) {
    throw Error(std::string(error.what()) +
                    ". Weights, their gradients and moments alone do not fit: a smaller model needs less (--layers, "
                    "--width, --feed-forward)",
                error.code);
  }
}

int train_in_folder(TrainingRun& run, Talk talk) {
  const RunConfig& config = run.config();
  RunFolder folder = open_run_folder(config);
  if (folder.resume_from.empty())
    run.set_state({.initial_sha256 = load_initial(config, run.ablation(), &run.data(), run.model())});
  else
    resume(folder.resume_from, run);
  folder.set_aside_older_run();  // not before all that this run reads was read
  write_file_atomically(folder.config(), to_toml(config));
  std::int64_t resumed_step = run.state().step;
  RunLog log(folder.metrics(), resumed_step > 0 ? resumed_step : -1);
  InterruptGuard listening;
  Progress progress(config.steps, config.log_every, talk == Talk::nothing);
  if (config.device != "cpu") progress.note("on " + description_of(device_named(config.device)));
  for (const std::string& note : folder.notes) progress.note("note: " + note);
  if (!log.note().empty()) progress.note("note: " + log.note());
  if (resumed_step > 0) progress.note("going on from " + folder.resume_from + ", step " + std::to_string(resumed_step));

  const std::string name = std::filesystem::path(folder.path).filename().string();
  const std::string before = measured_before(run, name, folder);
  if (!before.empty()) progress.note(before);
  StepReport report(log, progress);
  CheckpointWriter checkpoint(folder);
  std::vector<TrainingObserver*> observers{&report, &checkpoint};
  std::optional<BirthCheckpoints> birth;
  if (config.birth_checkpoints > 0)
    observers.push_back(&birth.emplace(folder.path, config.birth_checkpoints, resumed_step, progress));
  std::optional<TensorboardLog> tensorboard;
  if (config.tensorboard) observers.push_back(&tensorboard.emplace(folder.path, resumed_step, progress));
  TrainingRun::Ending ending = run.train(observers);
  if (ending == TrainingRun::Ending::diverged) fail_diverged(run, folder);
  if (ending == TrainingRun::Ending::stopped) {
    progress.note("stopped by signal " + std::to_string(stop_requested()) + " after step " +
                  std::to_string(run.state().step) + "; " + folder.checkpoint() +
                  " is saved: go on with --resume auto");
    return 128 + stop_requested();
  }
  write_evaluation(run, name, folder.evaluation());
  if (!before.empty()) progress.note(before);
  for (const std::string& line :
       data_use(run.data(), static_cast<double>(run.state().step) * static_cast<double>(config.tokens_per_step())))
    progress.note(line);
  if (talk == Talk::progress) print_folder(folder);
  return 0;
}

}  // namespace

void settle_process(const RunConfig& config) {
  check_device(config.device, config.precision, config.reference);
  start_threads(config.threads);
  use_reference() = config.reference;
  use_tf32() = config.precision == "tf32";
}

int train(const RunConfig& config, const Ablation& ablation, Talk talk) {
  settle_process(config);
  TrainingRun run = made_run(config, ablation);
  try {
    return config.dry_run ? print_dry_run(run) : train_in_folder(run, talk);
  } catch (const OutOfMemory& error) { fail_with_what_fits(run, error); }
}

int train_main(int argc, char** argv, const Ablation& ablation) {
  if (argc > 1 && std::string(argv[1]) == "init") return init_main(argc, argv, ablation);
  std::string program = "train_" + ablation.name;
  return run_program(program.c_str(), [&] {
    RunConfig config;
    if (!parse_run_config(argc, argv, ablation, config)) return 0;
    return train(config, ablation, Talk::progress);
  });
}

}  // namespace sink
