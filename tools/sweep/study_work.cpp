#include "tools/sweep/study_work.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <set>

#include "engine/check.h"
#include "engine/comm/local_ranks.h"
#include "engine/comm/rank_place.h"
#include "engine/io/folder_lock.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "tools/report/run_reader.h"
#include "tools/sweep/run_interventions.h"
#include "tools/sweep/worker_processes.h"
#include "train/join_ranks.h"
#include "train/progress.h"
#include "train/trainer.h"

namespace sink {
namespace {

constexpr auto kMoment = std::chrono::seconds(3);  // after which who waits says so

// As one rank or the only one.
int train_as_rank(const RunConfig& config, const Ablation& ablation) {
  return run_program("sweep", [&] {
    try {
      return train(config, ablation, Talk::nothing);
    } catch (const Error& error) {
      if (!is_failure_of_run(error.code)) throw;
      if (rank_place().rank == 0) store_failure(config, error.what());  // who hears of another's has its code
      return static_cast<int>(error.code);
    }
  });
}

// In a process of its own.
int train_one(const RunConfig& config, const Ablation& ablation, int ranks, bool whole_checkpoint) {
  const auto body = [&] { return train_as_rank(config, ablation); };
  const int code = ranks > 1 ? run_local_ranks(ranks, body, 2 * kMourning) : body();
  if (code != 0 || whole_checkpoint) return code;
  return run_program("sweep", [&] {
    keep_parameters_alone(config.run);
    return 0;
  });
}

// What a complete run measured.
std::string numbers_of_run(const std::string& folder) {
  const report::Run done = report::read_run_folder(folder);
  char text[120];
  std::snprintf(text, sizeof text, "loss %.3f, Sink_1 %.1f %%, alpha_1 %.3f", done.evaluation->get("val_loss"),
                done.evaluation->sink_at(0.3, false), done.evaluation->get("alpha_1"));
  return text;
}

// Somebody writes there whom no claim tells of: what a sweep that was killed left behind is still saving itself.
bool is_in_use(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return false;
  try {
    FolderLock lock(folder);
    return false;
  } catch (const Error& error) {
    if (error.code != Exit::usage) throw;
    return true;
  }
}

// A job is a run: its training, and then its interventions where the study has them.
class StudyWork : public JobSource {
 public:
  StudyWork(StudyState& state, JobClaims& claims, std::int64_t threads, bool patient)
      : state_(state), claims_(claims), threads_(threads), patient_(patient), all_(state.todo.size()) {
    waiting_.assign(state.todo.begin(), state.todo.end());
    untrained_.insert(state.todo.begin(), state.todo.end());
    for (std::size_t run = 0; run < state.runs.size(); ++run)
      if (lacks_interventions(run)) waiting_.push_back(run);
    for (std::size_t run : waiting_) {
      claims.look(claim_of(run));
      times_taken_[run] = claims.times_taken(claim_of(run));
    }
  }

  Next next(std::size_t& job) override {
    Next answer = Next::none;
    others_.clear();
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const std::size_t run = *at;
      switch (try_to_begin(run)) {
        case Try::begun:
          waiting_.erase(at);
          job = run;
          return Next::job;
        case Try::over:
          at = waiting_.erase(at);
          continue;
        case Try::soon:
          answer = Next::later;
          break;
        case Try::with_another:
          others_.push_back(run);
          if (patient_ && end_.exit_code != 0) answer = Next::later;
          break;
        case Try::after_another:
          others_.push_back(run);
          break;
      }
      ++at;
    }
    return answer;
  }

  int body(std::size_t run) override {
    const StudyRun& of = state_.runs[run];
    const Ablation& ablation = state_.arms[of.arm].ablation;
    if (!is_complete(of)) return train_one(of.config, ablation, state_.ranks, state_.study.whole_checkpoints);
    return run_program("sweep", [&] {
      store_interventions(of.config, ablation);
      return 0;
    });
  }

  void ended(const JobEnd& end) override {
    const std::size_t run = end.job;
    const bool was_training = training_.erase(run) > 0;
    if (std::erase(lost_, run) > 0) {
      claims_.look(claim_of(run));
      say(run, "taken over by " + claims_.holder(claim_of(run)) + ": nothing had been heard of this sweep for a while");
      waiting_.push_back(run);
      return;
    }
    if (end.exit_code != 0) note_failure(run, end.exit_code);
    if (was_training) untrained_.erase(run);
    say(run, became(run, end.exit_code, was_training) + "; " + duration(end.seconds) + left());
    if (was_training && end.exit_code == 0 && lacks_interventions(run))
      waiting_.push_front(run);  // still ours
    else
      claims_.let_go(claim_of(run));
  }

  std::vector<std::size_t> look() override {
    const auto lost = claims_.beat();
    for (const std::string& name : lost)
      for (std::size_t run = 0; run < state_.runs.size(); ++run)
        if (claim_of(run) == name) lost_.push_back(run);
    return lost_;
  }

  WorkEnd end(int signal) {
    end_.signal = signal;
    end_.others = others_;
    return end_;
  }

 private:
  enum class Try {
    begun,
    over,           // nothing is left to do of it
    soon,           // nothing can be said yet
    with_another,   // who lives
    after_another,  // what it starts from is not complete, and with another or waiting itself
  };

  std::string claim_of(std::size_t run) const { return claim_of_run(state_.runs[run]); }

  Try try_to_begin(std::size_t run) {
    const std::string claim = claim_of(run);
    const ClaimStanding standing = claims_.look(claim);
    if (standing == ClaimStanding::living) return Try::with_another;
    if (standing == ClaimStanding::unheard)
      return soon(run, "waiting to hear of " + claims_.holder(claim) + ", a lease at most");
    if (standing == ClaimStanding::ours) return begin(run);
    const bool was_taken = claims_.times_taken(claim) > times_taken_[run];
    // Somebody has let go of it: mostly because it is done, of which no claim need be made.
    if (claims_.times_taken(claim) > 0 && standing == ClaimStanding::free && is_over(run, was_taken))
      return over_elsewhere(run);
    if (const auto& from = state_.runs[run].from; from && !is_complete(state_.runs[*from])) {
      if (std::find(waiting_.begin(), waiting_.end(), *from) != waiting_.end() || training_.contains(*from))
        return Try::after_another;
      untrained_.erase(run);
      say(run, "not begun: what it starts from is not complete");
      return Try::over;
    }
    if (is_in_use(state_.name(run))) return soon(run, "waiting until another program is done in its folder");
    if (!claims_.take(claim)) return Try::soon;
    if (standing == ClaimStanding::dead) say(run, "taken over from " + claims_.holder(claim) + ", which is gone");
    if (!is_over(run, was_taken)) return begin(run);
    claims_.let_go(claim);
    return over_elsewhere(run);
  }

  // Says why, where it takes more than a moment.
  Try soon(std::size_t run, const std::string& why) {
    const auto [first, is_new] = waited_for_.try_emplace(run, std::chrono::steady_clock::now());
    if (!is_new && std::chrono::steady_clock::now() - first->second > kMoment && told_.insert(run).second)
      say(run, why);
    return Try::soon;
  }

  // Of a run that is ours.
  Try begin(std::size_t run) {
    StudyRun& of = state_.runs[run];
    if (!is_complete(of)) training_.insert(run);
    const std::int64_t begun_with = found_run(of.config, [] { return std::string(); }).threads;
    of.config.threads = begun_with > 0 ? begun_with : threads_;
    return Try::begun;
  }

  // What failed is tried again where that was asked for, and nobody did since.
  bool is_over(std::size_t run, bool was_taken) const {
    const FoundRun found = found_run(state_.runs[run].config, [] { return std::string(); });
    if (found.state == RunStanding::failed) return was_taken || !state_.retry;
    return found.state == RunStanding::complete && !lacks_interventions(run);
  }

  Try over_elsewhere(std::size_t run) {
    const FoundRun found = found_run(state_.runs[run].config, [] { return std::string(); });
    const std::string what =
        found.state == RunStanding::complete ? numbers_of_run(state_.name(run)) : "failed: " + found.reason;
    untrained_.erase(run);
    say(run, what + "; by " + claims_.holder(claim_of(run)));
    return Try::over;
  }

  bool lacks_interventions(std::size_t run) const {
    return state_.study.interventions && !state_.earlier[run] && is_complete(state_.runs[run]) &&
           !has_interventions(state_.runs[run].config);
  }

  std::string became(std::size_t run, int exit_code, bool was_training) const {
    const RunConfig& config = state_.runs[run].config;
    if (exit_code == 0) return was_training ? numbers_of_run(config.run) : "interventions measured";
    const FoundRun found = found_run(config, [] { return std::string(); });
    if (found.state == RunStanding::failed) return "failed: " + found.reason;
    return std::string(was_training ? "ended" : "its interventions ended") + " with exit code " +
           std::to_string(exit_code) + ", to be tried again";
  }

  void note_failure(std::size_t run, int exit_code) {
    const bool crashed = exit_code == 128 + SIGSEGV || exit_code == 128 + SIGABRT || exit_code == 128 + SIGBUS ||
                         exit_code == 128 + SIGFPE || exit_code == 128 + SIGILL;
    const StudyRun& of = state_.runs[run];
    if (crashed && !is_complete(of)) store_failure(of.config, "crashed with signal " + std::to_string(exit_code - 128));
    if (end_.exit_code == 0 && exit_code != static_cast<int>(Exit::diverged))
      end_.exit_code = exit_code < 128 ? exit_code : static_cast<int>(Exit::failure);
  }

  // "[3/8] runs/x/baseline-1: what"
  void say(std::size_t run, const std::string& what) const {
    std::fprintf(stderr, "[%zu/%zu] %s: %s\n", all_ - untrained_.size(), all_, printable(state_.name(run)).c_str(),
                 what.c_str());
  }

  std::string left() const {
    const std::size_t ended = all_ - untrained_.size();
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (ended == 0) return "";
    return ", " + duration(passed / static_cast<double>(ended) * static_cast<double>(untrained_.size())) + " left";
  }

  StudyState& state_;
  JobClaims& claims_;
  std::int64_t threads_;
  bool patient_;
  std::deque<std::size_t> waiting_;         // runs that are not begun here and not known to be over
  std::map<std::size_t, int> times_taken_;  // of these when this sweep began
  std::set<std::size_t> training_;          // here
  std::vector<std::size_t> lost_, others_;  // to others that took over; with living others
  std::size_t all_;                         // that were to be trained
  std::set<std::size_t> untrained_;         // of these
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::size_t, std::chrono::steady_clock::time_point> waited_for_;  // runs, since when
  std::set<std::size_t> told_;                                               // of these
  WorkEnd end_;
};

}  // namespace

WorkEnd work_on(StudyState& state, JobClaims& claims, const MachinePlan& plan, double lease, bool patient) {
  StudyWork work(state, claims, plan.threads, patient);
  const int signal = run_in_processes(work, plan.workers, std::min(2.0, lease / 16));
  return work.end(signal);
}

}  // namespace sink
