#include "train/trainer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "engine/comm/launcher.h"
#include "engine/comm/links.h"
#include "engine/comm/mpirun.h"
#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/io/str_format.h"
#include "engine/precision.h"
#include "engine/storage.h"
#include "eval/sink/evaluation_json.h"
#include "train/birth_checkpoints.h"
#include "train/distributed/join_ranks.h"
#include "train/distributed/sharded_state.h"
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

// Saves the run. Only the writer has a folder; the other ranks send it their shards of the state.
struct CheckpointWriter : TrainingObserver {
  const RunFolder* folder;
  explicit CheckpointWriter(const RunFolder* folder = nullptr) : folder(folder) {}
  void on_checkpoint(TrainingRun& run) override {
    save_run(folder ? folder->checkpoint() : "", run);
    if (folder) folder->drop_older_run();
  }
};

// A run that is resumed at its last step from a checkpoint of another folder trains no step that would save it. Called
// by all ranks.
void save_if_done(TrainingRun& run, CheckpointWriter& checkpoint) {
  const RunConfig& config = run.config();
  if (config.resume != "never" && config.resume != "auto" && run.state().step >= config.steps)
    checkpoint.on_checkpoint(run);
}

[[noreturn]] void fail_diverged(const TrainingRun& run, const std::string& checkpoint) {
  fail("train",
       "the loss or gradient was not finite in " + std::to_string(run.state().skipped_in_a_row) +
           " steps in a row (up to step " + std::to_string(run.state().step) +
           "); the weights are those of the last finite step, saved in " + checkpoint +
           ". Try a smaller --learning-rate or a longer --warmup.",
       Exit::diverged);
}

// The validation loss can be NaN or infinite although every training step had a finite loss.
bool has_diverged(const Evaluation& last) { return last.targets > 0 && !std::isfinite(last.loss); }

[[noreturn]] void fail_diverged_evaluation(const TrainingRun& run, const std::string& checkpoint) {
  if (run.state().step == 0)
    fail("train",
         run.config().initial +
             ": the validation loss of this checkpoint is not finite; expected one that did not diverge",
         Exit::diverged);
  fail("train",
       "after step " + std::to_string(run.state().step) + " the validation loss is not finite: " + checkpoint +
           " holds the weights, and nothing was measured of them. Try a smaller --learning-rate or a longer --warmup.",
       Exit::diverged);
}

// Evaluates the model, attention patterns included, and writes the result to `path`; `name` is the run's name in it.
Evaluation write_evaluation(TrainingRun& run, const std::string& name, const RunFolder& folder,
                            const std::string& path) {
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
      .measured_data_sha256 = run.data().checksum(),
      .seed = config.seed,
      .step = run.state().step,
      .steps = config.steps,
      .tokens = run.state().step * config.tokens_per_step(),
      .parameters = run.model().parameters().count(),
      .ranks = run.ranks().size(),
      .domains = run.data().domains(),
      .token_text = [&](std::int32_t id) { return run.data().token_text(id); },
  };
  Evaluation evaluation = run.evaluate(/*with_patterns=*/true);
  if (has_diverged(evaluation)) fail_diverged_evaluation(run, folder.checkpoint());
  write_file_atomically(path, evaluation_json(evaluation, context));
  return evaluation;
}

// A fine-tuned model is compared with what it was: that is measured before the first step, and returned as a line.
std::string measured_before(TrainingRun& run, const std::string& name, const RunFolder& folder) {
  if (run.config().initial.empty() || run.state().step > 0) return "";
  return evaluation_line({.evaluation = write_evaluation(run, name + ", before", folder, folder.evaluation_before())});
}

// A reader that left is no error: the run is done and saved.
void print_folder(const RunFolder& folder) {
  std::string line = printable(folder.path) + "\n";
  int error = write_all(STDOUT_FILENO, line.data(), line.size());
  if (error != 0 && error != EPIPE) fail_io("write", "the output (stdout)", error);
}

TrainingRun made_run(const RunConfig& config, const Ablation& ablation, Communicator& ranks) {
  try {
    return TrainingRun(config, ablation, ranks);
  } catch (const OutOfMemory& error) {
    throw Error(std::string(error.what()) +
                    ". Weights, their gradients and moments alone do not fit: a smaller model needs less (--layers, "
                    "--d-model, --feed-forward)",
                error.code);
  }
}

// train_in_folder() for a rank that is not the writer and so has no folder.
int train_on_other_rank(TrainingRun& run) {
  scatter_state(run, {});
  InterruptGuard listening(InterruptGuard::Says::nothing);
  try {
    const auto measure = [&run] { return has_diverged(run.evaluate(/*with_patterns=*/true)); };  // rank 0 prints why
    if (!run.config().initial.empty() && run.state().step == 0 && measure()) return static_cast<int>(Exit::diverged);
    CheckpointWriter checkpoint;
    save_if_done(run, checkpoint);
    TrainingRun::Ending ending = run.train({&checkpoint});
    if (ending == TrainingRun::Ending::diverged) return static_cast<int>(Exit::diverged);
    if (ending == TrainingRun::Ending::stopped) return 128 + run.stop_signal();
    if (measure()) return static_cast<int>(Exit::diverged);
  } catch (const Stopped& stopped) { return 128 + stopped.signal; }
  return 0;
}

std::string stopped_line(const TrainingRun& run, int signal, const RunFolder& folder) {
  const std::string by = "stopped by signal " + std::to_string(signal), step = std::to_string(run.state().step);
  if (run.state().step == 0) return by + " before its first step was done: start it again with --resume auto";
  return by + " after step " + step + "; " + folder.checkpoint() + " is saved: continue with --resume auto";
}

// What communication was, and the tensors that a rank keeps between steps: what train/distributed/rank_plan.h
// predicts.
std::string communication_line(TrainingRun& run) {
  const DistributedStrategy::Traffic traffic = run.strategy().traffic();
  const auto kept = static_cast<double>(allocator_stats(run.model().parameters().device()).bytes_in_use);
  std::string waited;  // a device's streams are not timed
  if (traffic.seconds_busy > 0)
    waited = str_format("; communication took %.3g s, for which it waited %.3g s", traffic.seconds_busy,
                        traffic.seconds_waited);
  return str_format("ranks: this one sent %.4g MiB a step%s; %.4g MiB of tensors are kept between steps",
                    traffic.bytes_sent / static_cast<double>(traffic.steps) / (1 << 20), waited, kept / (1 << 20));
}

// Updates RunState::reported from the lines of the log.
void note_what_is_reported(TrainingRun& run, const RunLog& log) {
  RunState state = run.state();
  state.reported = !state.last || log.last_step() == state.step;
  run.set_state(state);
}

// From the first measurement to the last one.
void train_and_measure(TrainingRun& run, const RunFolder& folder, RunLog& log, Progress& progress) {
  const RunConfig& config = run.config();
  const std::string name = std::filesystem::path(folder.path).filename().string();
  const std::string before = measured_before(run, name, folder);
  if (!before.empty()) progress.note(before);
  StepReport report(log, progress);
  CheckpointWriter checkpoint(&folder);
  save_if_done(run, checkpoint);
  std::vector<TrainingObserver*> observers;
  const std::int64_t reported_steps = run.state().step - (run.state().reported ? 0 : 1);
  std::optional<BirthCheckpoints> birth;
  if (config.birth_checkpoints > 0)
    observers.push_back(&birth.emplace(folder.path, config.birth_checkpoints, reported_steps, progress));
  std::optional<TensorboardLog> tensorboard;
  if (config.tensorboard) observers.push_back(&tensorboard.emplace(folder.path, reported_steps, progress));
  // After those above: a step with a line in the log is not reported again when the run resumes.
  observers.insert(observers.end(), {&report, &checkpoint});
  TrainingRun::Ending ending = run.train(observers);
  if (!run.ranks().is_single_process() && run.strategy().traffic().steps > 0) progress.note(communication_line(run));
  if (ending == TrainingRun::Ending::diverged) fail_diverged(run, folder.checkpoint());
  if (ending == TrainingRun::Ending::stopped) throw Stopped{run.stop_signal()};
  log.sync();  // a run with evaluation.json is complete and is not resumed
  write_evaluation(run, name, folder, folder.evaluation());
  if (!before.empty()) progress.note(before);
  for (const std::string& line :
       data_use(run.data(), static_cast<double>(run.state().step) * static_cast<double>(config.tokens_per_step())))
    progress.note(line);
}

// "training baseline: 425984 parameters, f32 on the CPU with 2 threads; runs/first"
std::string first_line(TrainingRun& run, const std::string& folder) {
  const RunConfig& config = run.config();
  return "training " + run.ablation().name + ": " + counted(run.model().parameters().count(), "parameter") + ", " +
         compute_description(config.device, config.precision, config.reference) + "; " + folder;
}

int train_in_folder(TrainingRun& run, Verbosity verbosity) {
  const RunConfig& config = run.config();
  RunFolder folder = open_run_folder(config);
  std::vector<OptimizerState> state;
  if (folder.resume_from.empty())
    run.set_state({.initial_sha256 = load_initial(config, run.ablation(), &run.data(), run.model())});
  else
    state = resume(folder.resume_from, run);
  scatter_state(run, state);
  folder.set_aside_older_run();  // not before all that this run reads was read
  write_file_atomically(folder.config(), to_toml(config));
  std::int64_t resumed_step = run.state().step;
  RunLog log(folder.metrics(), resumed_step > 0 ? resumed_step : -1, run.state().last.has_value());
  note_what_is_reported(run, log);
  InterruptGuard listening;
  Progress progress(config.steps, config.log_every, verbosity == Verbosity::silent);
  progress.note(first_line(run, folder.path));
  if (!run.ranks().is_single_process())
    progress.note(std::to_string(run.ranks().size()) + " ranks by " + run.ranks().name() + ", each with " +
                  std::to_string(config.accumulate / run.ranks().size()) + " of the " +
                  std::to_string(config.accumulate) + " micro-batches of a step");
  if (config.device == "cuda" && config.graph == "on" && !run.recording().wanted() && run.ranks().is_single_process())
    progress.note("note: a step is launched kernel by kernel: " + recording_refusal(Device::cuda));
  for (const std::string& note : folder.notes) progress.note("note: " + note);
  if (!log.note().empty()) progress.note("note: " + log.note());
  if (resumed_step > 0) progress.note("resuming from " + folder.resume_from + ", step " + std::to_string(resumed_step));

  try {
    train_and_measure(run, folder, log, progress);
  } catch (const Stopped& stopped) {
    progress.note(stopped_line(run, stopped.signal, folder));
    return 128 + stopped.signal;
  }
  progress.end_line();
  if (verbosity == Verbosity::progress) print_folder(folder);
  return 0;
}

}  // namespace

void apply_compute_options(const RunConfig& config) {
  ComputeOptions{
      .precision = config.precision, .threads = config.threads, .reference = config.reference, .device = config.device}
      .apply();
}

int train(const RunConfig& config, const Ablation& ablation, Verbosity verbosity) {
  if (config.dry_run && (config.nproc > 1 || launched_process().size > 1)) {
    const int ranks = config.nproc > 1 ? static_cast<int>(config.nproc) : launched_process().size;
    if (launched_process().rank > 0) return 0;
    const std::int64_t vocabulary = make_data_source(config, config.context, config.prefix)->vocabulary();
    std::fputs(text_of_rank_plan(config, ablation, vocabulary, ranks).c_str(), stdout);
    return 0;
  }
  std::unique_ptr<Links> links = config.dry_run ? nullptr : begin_mpi(config);
  apply_compute_options(config);
  const std::unique_ptr<Communicator> ranks = join_ranks(config, ablation, std::move(links));
  TrainingRun run = made_run(config, ablation, *ranks);
  int code = 0;
  try {
    if (config.dry_run) return print_dry_run(run);
    require_alike_data(*ranks, run.data());
    code = ranks->is_writer() ? train_in_folder(run, verbosity) : train_on_other_rank(run);
  } catch (const OutOfMemory& error) { fail_with_what_fits(run, error); } catch (const RankLost& lost) {
    throw RankLost(lost.what() + ("; this rank had finished step " + std::to_string(run.state().step)));
  }
  ranks->exchange("done");  // no rank ends before the writer has written
  return code;
}

int train_main(int argc, char** argv, const Ablation& ablation) {
  if (argc > 1 && std::string(argv[1]) == "init") return init_main(argc, argv, ablation);
  std::string program = "train_" + ablation.name;
  return run_program(program.c_str(), [&] {
    RunConfig config;
    if (!parse_run_config(argc, argv, ablation, config)) return 0;
    if (starts_ranks(config) && !config.dry_run) {
      require_ranks_divide(config, static_cast<int>(config.nproc));
      return run_mpirun(static_cast<int>(config.nproc), {argv, argv + argc});
    }
    return train(config, ablation, Verbosity::progress);
  });
}

}  // namespace sink
