#include "tools/sweep/study_jobs.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <set>
#include <thread>

#include "engine/check.h"
#include "engine/comm/launcher.h"
#include "engine/comm/mpirun.h"
#include "engine/io/checkpoint.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/io/str_format.h"
#include "engine/threads.h"
#include "eval/interventions/checkpoint_interventions.h"
#include "model/model_checkpoint.h"
#include "tools/report/run_reader.h"
#include "tools/sweep/worker_processes.h"
#include "train/distributed/join_ranks.h"
#include "train/progress.h"
#include "train/trainer.h"

namespace sink {
namespace {

constexpr auto kMaxSaveTime = std::chrono::seconds(60);  // of a run whose sweep was killed

// "loss 5.135, Sink_1 1.6 %, alpha_1 0.034" of a complete run.
std::string result_of_run(const std::string& folder) {
  const report::Run done = report::read_run_folder(folder);
  if (!done.evaluation) throw Error(folder + " has no evaluation.json of its end", Exit::failure);
  return str_format("loss %.3f, Sink_1 %.1f %%, alpha_1 %.3f", done.evaluation->get("val_loss"),
                    done.evaluation->sink_at(0.3, false), done.evaluation->get("alpha_1"));
}

// Waits until no other process writes into the folder. Throws Error (Exit::usage), naming the process, if one still
// does after `timeout`.
void wait_for_folder(const std::string& folder, std::chrono::seconds timeout) {
  if (!std::filesystem::exists(folder)) return;
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (bool noted = false;; noted = true) try {
      const FolderLock lock(folder);
      return;
    } catch (const Error& error) {
      if (error.code != Exit::usage || std::chrono::steady_clock::now() >= end) throw;
      if (!noted)
        std::fprintf(stderr, "sweep: %s; waiting up to %lld s\n", printable(error.what()).c_str(),
                     static_cast<long long>(timeout.count()));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// Whether an error with this exit code is caused by the run itself (diverged, out of memory, a bug). Other errors are
// those of the machine or the user (a full disk, no such device, a folder in use); then the same run may succeed later.
bool is_failure_of_run(Exit code) {
  return code == Exit::diverged || code == Exit::out_of_memory || code == Exit::failure;
}

void drop_optimizer_state(const std::string& run) {
  const FolderLock lock(run);
  const std::string path = run + "/checkpoint.h5";
  Checkpoint checkpoint = load_checkpoint(path);
  std::erase_if(checkpoint.tensors, [](const auto& tensor) { return tensor.first.starts_with(kOptimizerFolder); });
  save_checkpoint(path, checkpoint);
}

// Measures the interventions of a complete run on its checkpoint (eval/interventions/interventions.h) and writes
// <run>/interventions.json. One thread, so that the values do not depend on the machine.
int measure_interventions(const RunConfig& run, const Ablation& ablation) {
  const FolderLock lock(run.run);
  set_thread_count(1);
  InputOptions given;
  given.data = run.data;
  const CheckpointInterventions found =
      intervene_on_checkpoint({.checkpoint = run.run + "/checkpoint.h5", .given = given}, ablation);
  write_file_atomically(run.run + "/interventions.json", found.json);
  return 0;
}

class StudyJobs {
 public:
  StudyJobs(StudyState& state, std::int64_t threads, std::optional<std::size_t> job)
      : state_(state),
        threads_(threads),
        is_single_(job),
        total_(state.todo.size()),
        waiting_(state.todo.begin(), state.todo.end()),
        untrained_(state.todo.begin(), state.todo.end()) {
    for (std::size_t run = job.value_or(0); run < (job ? *job + 1 : state.runs.size()); ++run)
      if (lacks_interventions(state, run) || keeps_optimizer_state(state, run)) waiting_.push_back(run);
  }

  JobsResult run(std::size_t workers) {
    const int signal = run_in_processes(
        {[&] { return next(); }, [&](std::size_t run) { return body(run); }, [&](const JobEnd& end) { ended(end); }},
        workers);
    return {signal, exit_code_};
  }

 private:
  std::optional<std::size_t> next() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const std::size_t run = *at;
      const std::optional<std::size_t>& from = state_.runs[run].from;
      const bool lacks_start = from && untrained_.contains(run) && !is_complete(state_.runs[*from]);
      if (lacks_start && untrained_.contains(*from)) {  // its start may still become complete
        ++at;
        continue;
      }
      at = waiting_.erase(at);
      if (!lacks_start) return run;
      untrained_.erase(run);
      print(run, "not begun: the run that it starts from is not complete");
    }
    return std::nullopt;
  }

  // A begun run keeps its number of threads. A failed run that another process has begun again, or completed, while
  // this one waited for its folder is continued: it is not lost.
  void prepare(RunConfig& config) const {
    const FoundRun now = found_run(config);
    config.threads = now.threads > 0 ? now.threads : threads_;
    if (!config.force || now.status == RunStatus::failed) return;
    config.force = false;
    config.resume = "auto";
  }

  // Runs in a child process.
  int body(std::size_t run) {
    StudyRun& of = state_.runs[run];
    return run_program("sweep", [&] {
      wait_for_folder(of.config.run, is_single_ ? std::chrono::seconds(0) : kMaxSaveTime);
      const Ablation& ablation = state_.groups[of.group].ablation;
      if (!untrained_.contains(run)) {
        if (keeps_optimizer_state(state_, run)) drop_optimizer_state(of.config.run);
        return lacks_interventions(state_, run) ? measure_interventions(of.config, ablation) : 0;
      }
      prepare(of.config);
      const int code = state_.ranks > 1 ? train_on_ranks(run) : train_as_rank(of.config, ablation);
      if (code == 0 && !state_.study.whole_checkpoints) {
        result_of_run(of.config.run);  // throws where the disk damaged it: to make it again, the run needs its state
        drop_optimizer_state(of.config.run);
      }
      return code;
    });
  }

  void ended(const JobEnd& end) {
    const std::size_t run = end.job;
    const bool was_training = untrained_.erase(run) > 0;
    if (end.exit_code != 0) note_failure(run, end.exit_code);
    print(run, outcome(run, end.exit_code, was_training) + "; " + duration(end.seconds) + time_left());
    if (was_training && end.exit_code == 0 && lacks_interventions(state_, run)) waiting_.push_front(run);
  }

  // Each rank is a process of this program that trains the same job (train_as_rank).
  int train_on_ranks(std::size_t run) const {
    std::vector<std::string> command = state_.command;
    const RunConfig& config = state_.runs[run].config;
    command.insert(command.end(), {"--index", std::to_string(run), "--threads", std::to_string(config.threads),
                                   "--as-rank", config.run});
    if (config.force) command.emplace_back("--retry");
    return run_mpirun(state_.ranks, command);
  }

  std::string outcome(std::size_t run, int exit_code, bool was_training) const {
    const RunConfig& config = state_.runs[run].config;
    if (exit_code == 0 && was_training) return result_of_run(config.run);
    if (exit_code == 0) return state_.study.interventions ? "interventions measured" : "optimizer state removed";
    const FoundRun found = found_run(config);
    if (found.status == RunStatus::failed) return "failed: " + found.reason;
    return std::string(was_training ? "ended" : "its interventions ended") + " with exit code " +
           std::to_string(exit_code) + "; the same command retries it";
  }

  void note_failure(std::size_t run, int exit_code) {
    const bool crashed = exit_code == 128 + SIGSEGV || exit_code == 128 + SIGABRT || exit_code == 128 + SIGBUS ||
                         exit_code == 128 + SIGFPE || exit_code == 128 + SIGILL;
    const StudyRun& of = state_.runs[run];
    if (crashed && !is_complete(of)) store_failure(of.config, "crashed with signal " + std::to_string(exit_code - 128));
    if (exit_code_ == 0 && exit_code != static_cast<int>(Exit::diverged))
      exit_code_ = exit_code < 128 ? exit_code : static_cast<int>(Exit::failure);
  }

  // "[3/8] runs/x/baseline-1: what"
  void print(std::size_t run, const std::string& what) const {
    std::fprintf(stderr, "[%zu/%zu] %s: %s\n", total_ - untrained_.size(), total_, printable(state_.name(run)).c_str(),
                 what.c_str());
  }

  std::string time_left() const {
    const std::size_t ended = total_ - untrained_.size();
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (ended == 0) return "";
    return ", " + duration(passed / static_cast<double>(ended) * static_cast<double>(untrained_.size())) + " left";
  }

  StudyState& state_;
  std::int64_t threads_;
  bool is_single_;                   // one job, which does not wait for other processes
  std::size_t total_;                // runs to be trained
  std::deque<std::size_t> waiting_;  // runs to be trained or measured that have not started
  std::set<std::size_t> untrained_;  // runs to be trained whose training has not ended
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int exit_code_ = 0;
};

}  // namespace

int train_as_rank(const RunConfig& config, const Ablation& ablation) {
  try {
    return train(config, ablation, Verbosity::silent);
  } catch (const Error& error) {
    if (!is_failure_of_run(error.code)) throw;
    if (launched_process().rank == 0) store_failure(config, error.what());
    return static_cast<int>(error.code);
  }
}

JobsResult run_jobs(StudyState& state, const MachinePlan& plan, std::optional<std::size_t> job) {
  return StudyJobs(state, plan.threads, job).run(plan.workers);
}

}  // namespace sink
