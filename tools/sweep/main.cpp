// sweep: runs a study, a file of train/studies: trains its runs, each an ordinary run folder, as many at once as serves
// the machine best, and sets what was measured beside the paper's numbers. Stopped at any moment it goes on.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "engine/check.h"
#include "engine/data/data_source.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tools/sweep/dry_run_table.h"
#include "tools/sweep/earlier_runs.h"
#include "tools/sweep/machine_plan.h"
#include "tools/sweep/run_interventions.h"
#include "tools/sweep/run_states.h"
#include "tools/sweep/study_list.h"
#include "tools/sweep/study_output.h"
#include "tools/sweep/study_runs.h"
#include "tools/sweep/worker_processes.h"
#include "train/progress.h"
#include "train/run_config_table.h"
#include "train/trainer.h"

namespace sink {
namespace {

struct Request : StudyRequest {
  std::string study;
  std::vector<std::string> sets, earlier;
  std::optional<std::size_t> workers;
  std::optional<std::int64_t> threads;
  bool dry_run = false, retry = false, force = false;
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("STUDY", request.study, "TOML file; without one the studies of train/studies are listed");
  app.add_option("--size", request.size, "cpu: a small model, overnight on two cores; gpu: the paper's")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  app.add_option("--data", request.data, "folder that `prepare` made, where the study's task is text");
  app.add_option("--chat", request.chat, "folder that `prepare --chat` made: the data of runs that start from others");
  app.add_option("--out", request.out, "folder of the runs and tables [runs/<the study's name>]");
  app.add_option("--seeds", request.seeds, "instead of the study's: 1,2,3")->delimiter(',')->allow_extra_args(false);
  app.add_option("--only", request.only, "these runs or ablations, a,b,c")->delimiter(',')->allow_extra_args(false);
  app.add_option("--set", request.sets, "another common setting, as in --set steps=500");
  app.add_option("--earlier", request.earlier,
                 "a <study>-runs.csv, made here or elsewhere: its rows with the settings of a run count as that run, "
                 "which is not trained; may be given several times")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  app.add_option("--workers", request.workers, "processes at once [measured]")->check(CLI::Range(1, 1024));
  app.add_option("--threads", request.threads, "of each process [measured]")->check(CLI::Range(1, 4096));
  app.add_flag("--dry-run", request.dry_run, "print the runs and how long they would take here, then leave");
  app.add_flag("--retry", request.retry, "train runs that failed again, from their beginning");
  app.add_flag("--force", request.force, "replace tables that `sweep` did not make");
  app.footer(
      "Every run is a run folder, <out>/<run>-<seed>, that report, eval_<ablation> and train_<ablation> --resume "
      "take;\n"
      "complete ones of the same settings are kept. Writes <out>/<study>.md, .csv, -runs.csv, .svg and .html.\n\n"
      "Examples:\n  sweep train/studies/bigram_backcopy.toml\n"
      "  sweep train/studies/weight_decay.toml --data data/english --dry-run\n\n"
      "Exit codes: 0 done (whatever diverged), 1 a run crashed or could not be trained, 2 usage, 3 bad input, 8 disk,\n"
      "128 + n stopped by signal n.");
}

// False when help was asked for and printed.
bool parse(int argc, char** argv, Request& request) {
  CLI::App app("Runs a study: trains its runs and sets them beside the paper's numbers.", "sweep");
  add_options(app, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return false;
  } catch (const CLI::ParseError& error) { throw Error(std::string(error.what()) + "; see --help", Exit::usage); }
  for (const std::string& change : request.sets) {
    std::string flag = change.substr(0, change.find('='));
    const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
    const bool free = flag != "seed" && flag != "data" && flag != "threads";
    SINK_CHECK(setting && is_saved(*setting) && change.size() > flag.size() && free, "sweep",
               "--set takes a setting of train_<ablation> and its value, as in learning-rate=0.01; got `" + change +
                   "`" + did_you_mean(flag, run_config_table()),
               Exit::usage);
    setting->read(change.substr(flag.size() + 1), "--set " + flag);
    request.changes.emplace_back(setting->flag, change.substr(flag.size() + 1));
  }
  return true;
}

// What the tokens of a run are; each text is looked through once.
class DataChecksums {
 public:
  std::string of(const RunConfig& config) {
    std::string key;
    for (const Setting<RunConfig>& setting : run_config_table())
      if (setting.group == "Data" && setting.flag != "seed" && setting.flag != "batch")
        key += plain_text(setting.value(config)) + "\n";
    auto known = known_.find(key);
    if (known == known_.end()) known = known_.emplace(key, make_data_source(config)->checksum()).first;
    return known->second;
  }

 private:
  std::map<std::string, std::string> known_;
};

// The study with everything that is decided before the first run starts.
struct Sweep {
  Request request;
  StudyFile study;
  std::vector<StudyArm> arms;
  std::vector<StudyRun> runs;
  std::vector<FoundRun> found;  // of runs
  EarlierRuns earlier_runs;
  std::vector<const EarlierRun*> earlier;  // of runs: the row that stands for it, null: none does
  std::vector<std::size_t> todo;           // of runs
  int exit_code = 0;  // of the first run that ended without numbers in this sweep, other than diverged

  const std::string& name(std::size_t run) const { return runs[run].config.run; }
};

void look_around(Sweep& sweep) {
  DataChecksums checksums;
  sweep.found.clear();
  sweep.earlier.clear();
  sweep.todo.clear();
  for (std::size_t i = 0; i < sweep.runs.size(); ++i) {
    RunConfig& config = sweep.runs[i].config;
    sweep.found.push_back(found_run(config, [&] { return checksums.of(config); }));
    FoundRun& found = sweep.found.back();
    const EarlierRun* earlier = sweep.earlier_runs.find(config, [&] { return checksums.of(config); });
    if (earlier && !stands_for(*earlier, found.state, sweep.request.retry)) earlier = nullptr;
    sweep.earlier.push_back(earlier);
    if (earlier) continue;
    if (found.state == RunStanding::failed && sweep.request.retry) {
      config.force = true;
      config.resume = "never";
    } else if (found.state == RunStanding::failed || found.state == RunStanding::complete) {
      continue;
    }
    sweep.todo.push_back(i);
  }
  for (const std::string& note : sweep.earlier_runs.notes()) std::fprintf(stderr, "sweep: %s\n", note.c_str());
}

MachinePlan plan_of(const Sweep& sweep) {
  const std::int64_t cores = thread_count();
  const Request& request = sweep.request;
  MachinePlan plan{1, 1, "as given"};
  if (!(request.workers && request.threads) && !sweep.todo.empty()) {
    const StudyRun& run = sweep.runs[sweep.todo.front()];
    if (!request.workers && !request.threads) {
      plan = fastest_plan({sweep.arms[run.arm].ablation, run.config}, cores, sweep.todo.size());
    } else if (request.threads) {
      plan.workers = static_cast<std::size_t>(std::max<std::int64_t>(1, cores / *request.threads));
    } else {
      plan.threads = std::max<std::int64_t>(1, cores / static_cast<std::int64_t>(*request.workers));
    }
  }
  if (request.workers) plan.workers = *request.workers;
  if (request.threads) plan.threads = *request.threads;
  return plan;
}

// In a process of its own.
int train_one(const RunConfig& config, const Ablation& ablation, bool whole_checkpoint) {
  return run_program("sweep", [&] {
    try {
      const int code = train(config, ablation, Talk::nothing);
      if (code == 0 && !whole_checkpoint) keep_parameters_alone(config.run);
      return code;
    } catch (const Error& error) {
      if (!is_failure_of_run(error.code)) throw;
      store_failure(config, error.what());
      return static_cast<int>(error.code);
    }
  });
}

// What became of a run, for the line that is shown; remembers those without numbers.
std::string told(Sweep& sweep, std::size_t run, int exit_code) {
  const RunConfig& config = sweep.runs[run].config;
  if (exit_code == 0) {
    const report::Run done = report::read_run_folder(config.run);
    char text[120];
    std::snprintf(text, sizeof text, "loss %.3f, Sink_1 %.1f %%, alpha_1 %.3f", done.evaluation->get("val_loss"),
                  done.evaluation->sink_at(0.3, false), done.evaluation->get("alpha_1"));
    return text;
  }
  const bool crashed = exit_code == 128 + SIGSEGV || exit_code == 128 + SIGABRT || exit_code == 128 + SIGBUS ||
                       exit_code == 128 + SIGFPE || exit_code == 128 + SIGILL;
  if (crashed) store_failure(config, "crashed with signal " + std::to_string(exit_code - 128));
  const FoundRun found = found_run(config, [] { return std::string(); });
  if (sweep.exit_code == 0 && exit_code != static_cast<int>(Exit::diverged))
    sweep.exit_code = exit_code < 128 ? exit_code : static_cast<int>(Exit::failure);
  if (found.state == RunStanding::failed) return "failed: " + found.reason;
  return "ended with exit code " + std::to_string(exit_code) + ", to be tried again";
}

// How far a sweep is.
struct Count {
  std::size_t ended = 0, all = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

// Trains these; a signal's number or 0.
int train_some(Sweep& sweep, const std::vector<std::size_t>& some, const MachinePlan& plan, Count& count) {
  return run_in_processes(
      some.size(), plan.workers,
      [&](std::size_t i) {
        const StudyRun& run = sweep.runs[some[i]];
        return train_one(run.config, sweep.arms[run.arm].ablation, sweep.study.whole_checkpoints);
      },
      [&](const JobEnd& end) {
        ++count.ended;
        const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - count.start).count();
        const double left = passed / static_cast<double>(count.ended) * static_cast<double>(count.all - count.ended);
        const std::size_t run = some[end.job];
        const std::string what = told(sweep, run, end.exit_code);
        std::fprintf(stderr, "[%zu/%zu] %s: %s; %s, %s left\n", count.ended, count.all,
                     printable(sweep.name(run)).c_str(), what.c_str(), duration(end.seconds).c_str(),
                     duration(left).c_str());
      });
}

bool is_complete(const StudyRun& run) {
  return found_run(run.config, [] { return std::string(); }).state == RunStanding::complete;
}

// Trains what is to do, and what others start from before them; a signal's number or 0.
int train_all(Sweep& sweep, const MachinePlan& plan) {
  for (std::size_t run : sweep.todo) {
    const std::int64_t begun_with = sweep.found[run].threads;
    sweep.runs[run].config.threads = begun_with > 0 ? begun_with : plan.threads;
  }
  Count count{.all = sweep.todo.size()};
  for (std::vector<std::size_t> left = sweep.todo, later; !left.empty(); left.swap(later)) {
    std::vector<std::size_t> now;
    later.clear();
    for (std::size_t run : left) {
      const std::optional<std::size_t> from = sweep.runs[run].from;
      if (from && std::find(left.begin(), left.end(), *from) != left.end()) {
        later.push_back(run);
      } else if (from && !is_complete(sweep.runs[*from])) {
        std::fprintf(stderr, "[%zu/%zu] %s: not begun: what it starts from is not complete\n", ++count.ended, count.all,
                     printable(sweep.name(run)).c_str());
      } else {
        now.push_back(run);
      }
    }
    if (int signal = train_some(sweep, now, plan, count)) return signal;
  }
  return 0;
}

// Measures the interventions of complete runs that have none yet; a signal's number or 0.
int intervene_in_all(Sweep& sweep, std::size_t workers) {
  std::vector<std::size_t> todo;
  for (std::size_t run = 0; run < sweep.runs.size(); ++run)
    if (is_complete(sweep.runs[run]) && !has_interventions(sweep.runs[run].config)) todo.push_back(run);
  if (!todo.empty()) std::fprintf(stderr, "sweep: interventions on %zu runs\n", todo.size());
  return run_in_processes(
      todo.size(), workers,
      [&](std::size_t i) {
        const StudyRun& run = sweep.runs[todo[i]];
        return run_program("sweep", [&] {
          store_interventions(run.config, sweep.arms[run.arm].ablation);
          return 0;
        });
      },
      [&](const JobEnd& end) {
        if (end.exit_code == 0 || sweep.exit_code != 0) return;
        sweep.exit_code = end.exit_code < 128 ? end.exit_code : static_cast<int>(Exit::failure);
      });
}

Sweep sweep_of(const Request& request) {
  Sweep sweep;
  sweep.request = request;
  sweep.study = read_study_file(request.study);
  if (sweep.request.out.empty()) sweep.request.out = "runs/" + sweep.study.name;
  sweep.arms = arms_of(sweep.study, sweep.request);
  sweep.runs = runs_of(sweep.study, sweep.request, sweep.arms);
  sweep.earlier_runs = EarlierRuns(request.earlier);
  return sweep;
}

int run(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) return 0;
  if (std::string note = note_of_unbuilt_ablations(); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (request.study.empty()) return list_studies("train/studies");
  Sweep sweep = sweep_of(request);
  if (request.dry_run) {
    look_around(sweep);
    print_dry_run_of_study(sweep.study, sweep.arms, sweep.runs, sweep.todo, plan_of(sweep));
    return 0;
  }
  std::filesystem::create_directories(sweep.request.out);
  FolderLock lock(sweep.request.out);
  const StudyOutput output(sweep.request.out, sweep.study.name);
  output.require_free(request.force);
  output.require_no_input(request.earlier);
  look_around(sweep);
  const MachinePlan plan = plan_of(sweep);
  std::fprintf(stderr, "sweep: %s: %zu runs, %zu to do; %zu at once, %lld thread%s each (%s)\n",
               printable(sweep.study.name).c_str(), sweep.runs.size(), sweep.todo.size(), plan.workers,
               static_cast<long long>(plan.threads), plan.threads == 1 ? "" : "s", plan.measured.c_str());
  int signal = train_all(sweep, plan);
  if (signal == 0 && sweep.study.interventions) signal = intervene_in_all(sweep, plan.workers);
  if (signal) {
    std::fprintf(stderr, "sweep: stopped by signal %d; the same command goes on\n", signal);
    return 128 + signal;
  }
  output.write(sweep.study, sweep.request.size, sweep.arms, outcomes_of(sweep.runs, sweep.earlier));
  return sweep.exit_code;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("sweep", [&] { return sink::run(argc, argv); });
}
