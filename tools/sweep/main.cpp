// sweep: runs a study, a file of train/studies: trains its runs, each an ordinary run folder, as many at once as serves
// the machine best, and sets what was measured beside the paper's numbers. Stopped at any moment it goes on; started
// several times it shares the work.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "engine/check.h"
#include "engine/comm/rank_place.h"
#include "engine/io/folder_lock.h"
#include "engine/io/number_check.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tools/sweep/dry_run_table.h"
#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_list.h"
#include "tools/sweep/study_output.h"
#include "tools/sweep/study_work.h"
#include "train/join_ranks.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

struct Request : StudyRequest {
  std::string study;
  std::vector<std::string> sets, earlier;
  std::optional<std::size_t> workers;
  std::optional<std::int64_t> threads;
  double lease = 60;
  int ranks = 1;
  bool dry_run = false, retry = false, force = false;
};

constexpr std::size_t kMostNamed = 8;  // runs of others

void add_options(CLI::App& app, Request& request) {
  app.add_option("STUDY", request.study, "TOML file; without one the studies of train/studies are listed");
  app.add_option("--size", request.size, "cpu: a small model, overnight on two cores; gpu: the paper's")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  app.add_option("--data", request.data, "folder that `prepare` made, where the study's task is text");
  app.add_option("--chat", request.chat, "folder that `prepare --chat` made: the data of runs that start from others");
  app.add_option("--out", request.out, "folder of the runs and tables [runs/<the study's name>]");
  app.add_option("--seeds", request.seeds, "instead of the study's: 1,2,3")
      ->check(seed_number())
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--only", request.only, "these runs or ablations, a,b,c")->delimiter(',')->allow_extra_args(false);
  app.add_option("--set", request.sets, "another common setting, as in --set steps=500");
  app.add_option("--earlier", request.earlier,
                 "a <study>-runs.csv, made here or elsewhere: its rows with the settings of a run count as that run, "
                 "which is not trained; may be given several times")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  app.add_option("--workers,--nproc", request.workers, "processes at once [measured]")->check(whole_number(1, 1024));
  app.add_option("--threads", request.threads, "of each process [measured]")->check(whole_number(1, 4096));
  app.add_option("--ranks", request.ranks, "of each run, each on a GPU of its own; other numbers have the same bits")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  app.add_option("--lease", request.lease,
                 "seconds after which a sweep on another host that is not heard of is taken for dead")
      ->check(real_number(1, 1e6))
      ->capture_default_str();
  app.add_flag("--dry-run", request.dry_run, "print the runs and how long they would take here, then leave");
  app.add_flag("--retry", request.retry, "train runs that failed again, from their beginning");
  app.add_flag("--force", request.force, "replace tables that `sweep` did not make");
  app.footer(
      "Every run is a run folder, <out>/<run>-<seed>, that report, eval_<ablation> and train_<ablation> --resume "
      "take;\n"
      "complete ones of the same settings are kept. Writes <out>/<study>.md, .csv, -runs.csv, .svg and .html.\n"
      "The same command given several times at once, on one machine or many that see <out>, shares the runs: no two\n"
      "have one run, others go on with those of a sweep that dies, and whoever ends last writes the tables.\n\n"
      "Examples:\n  sweep train/studies/bigram_backcopy.toml\n"
      "  sweep train/studies/weight_decay.toml --data data/english --dry-run\n"
      "  mpirun -n 8 sweep train/studies/operations.toml --data data/english --threads 4\n"
      "  sbatch --array=0-7 tools/launch/sweep_array.sbatch train/studies/operations.toml --data data/english\n\n"
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
  SINK_CHECK(std::isfinite(request.lease), "sweep", "--lease is expected to be a number of seconds, got nan",
             Exit::usage);
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

MachinePlan plan_of(const Request& request, const StudyState& sweep) {
  const std::int64_t cores = thread_count();
  MachinePlan plan{1, 1, "as given"};
  if (request.ranks > 1) {
    plan.threads = std::max<std::int64_t>(1, cores / request.ranks);
    plan.measured = std::to_string(request.ranks) + " ranks a run";
  } else if (!(request.workers && request.threads) && !sweep.todo.empty()) {
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

StudyState study_of(Request& request) {
  StudyState state;
  state.study = read_study_file(request.study);
  if (request.out.empty()) request.out = "runs/" + state.study.name;
  state.arms = arms_of(state.study, request);
  state.runs = runs_of(state.study, request, state.arms);
  state.retry = request.retry;
  state.ranks = request.ranks;
  for (const StudyArm& arm : state.arms) require_ranks_divide(arm.config, request.ranks);
  state.earlier_runs = EarlierRuns(request.earlier);
  return state;
}

// One of those that find everything done writes the files; the others could but write the same.
void write_tables(const StudyState& state, const Request& request, const StudyOutput& output, JobClaims& claims) {
  const std::string job = state.study.name + "-tables";
  const std::vector<StudyOutcome> outcomes = outcomes_of(state.runs, state.earlier);
  for (;;) {
    const ClaimStanding standing = claims.look(job);
    if (standing == ClaimStanding::living) return output.print(state.study, request.size, state.arms, outcomes);
    if (standing != ClaimStanding::unheard && claims.take(job)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  output.write(state.study, request.size, state.arms, outcomes);
  claims.let_go(job);
}

void tell_of_others(const std::vector<std::size_t>& others, const StudyState& state, const JobClaims& claims) {
  std::fprintf(stderr, "sweep: nothing is left to begin; whoever ends last of these writes the tables:\n");
  for (std::size_t i = 0; i < others.size() && i < kMostNamed; ++i)
    std::fprintf(stderr, "  %s: %s\n", printable(state.name(others[i])).c_str(),
                 claims.holder(claim_of_run(state.runs[others[i]])).c_str());
  if (others.size() > kMostNamed) std::fprintf(stderr, "  and %zu more\n", others.size() - kMostNamed);
}

int run(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) return 0;
  const bool one_of_many = be_alone() > 1;  // by mpirun or srun, which share out ranks of one run else
  if (std::string note = note_of_unbuilt_ablations(); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (request.study.empty()) return list_studies("train/studies");
  StudyState state = study_of(request);
  if (request.dry_run) {
    look_around(state);
    if (request.ranks > 1) std::fprintf(stderr, "note: times are those of runs of one rank\n");
    print_dry_run_of_study(state.study, state.arms, state.runs, state.todo, plan_of(request, state));
    return 0;
  }
  std::filesystem::create_directories(request.out);
  const FolderLock lock(request.out, FolderLock::Holders::several);  // other sweeps may, other programs may not
  const StudyOutput output(request.out, state.study.name);
  output.require_free(request.force);
  output.require_no_input(request.earlier);
  look_around(state);
  const MachinePlan plan = plan_of(request, state);
  std::fprintf(stderr, "sweep: %s: %zu runs, %zu to do; %zu at once, %lld thread%s each (%s)\n",
               printable(state.study.name).c_str(), state.runs.size(), state.todo.size(), plan.workers,
               static_cast<long long>(plan.threads), plan.threads == 1 ? "" : "s", plan.measured.c_str());
  JobClaims claims(request.out + "/.queue", request.lease);
  const WorkEnd end = work_on(state, claims, plan, request.lease, one_of_many);
  if (end.signal) {
    std::fprintf(stderr, "sweep: stopped by signal %d; the same command goes on\n", end.signal);
    return 128 + end.signal;
  }
  if (end.others.empty())
    write_tables(state, request, output, claims);
  else
    tell_of_others(end.others, state, claims);
  return end.exit_code;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("sweep", [&] { return sink::run(argc, argv); });
}
