// sweep: trains the runs of a study, a file of train/studies, and compares the results with the paper's. On one machine
// it trains as many runs at once as is fastest; a scheduler can run them one by one, by index.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "engine/check.h"
#include "engine/comm/launcher.h"
#include "engine/io/command_line.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/io/setting.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tools/sweep/machine_plan.h"
#include "tools/sweep/study_jobs.h"
#include "tools/sweep/study_output.h"
#include "train/distributed/join_ranks.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

struct Request : StudyRequest {
  std::string study;
  std::vector<std::string> sets, earlier;
  std::optional<std::size_t> workers;
  std::optional<std::int64_t> threads;
  std::optional<std::size_t> index;
  int ranks = 1;
  bool list = false, collect = false, dry_run = false, retry = false, force = false;
  std::string as_rank;  // the run folder
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("STUDY", request.study, "TOML file or name in train/studies [lists them]");
  app.add_option("--size", request.size, "cpu: a small model; gpu: the paper's")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  app.add_option("--data", request.data, "text: the folder that `prepare` made")->type_name("DIR");
  app.add_option("--chat", request.chat, "data of tuned runs: a folder of `prepare --chat`")->type_name("DIR");
  app.add_option("--out", request.out, "folder of runs and tables [runs/<name>]")->type_name("DIR");
  app.add_option("--seeds", request.seeds, "seeds to use, as in 1,2,3 [the study's]")
      ->check(seed_number())
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  app.add_option("--only", request.only, "only these runs or ablations, as in a,b,c")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  app.add_option("--set", request.sets, "override a common setting, as in --set steps=500")->type_name("FLAG=VALUE");
  app.add_option("--earlier", request.earlier, "a <study>-runs.csv whose rows replace equal runs")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  app.add_option("--workers,--nproc", request.workers, "processes at once [measured]")
      ->check(whole_number(1, 1024))
      ->type_name("N");
  app.add_option("--threads", request.threads, "threads per process [measured; 1 with --index]")
      ->check(whole_number(1, 4096))
      ->type_name("N");
  app.add_option("--ranks", request.ranks, "ranks per run, each on its own GPU; same results")
      ->check(whole_number(1, 1024))
      ->capture_default_str()
      ->type_name("N");
  app.add_flag("--list", request.list, "print the jobs as CSV and exit");
  app.add_option("--index", request.index, "run only job N of --list, from 0; write no tables")
      ->type_name("N")
      ->check(whole_number(0));
  app.add_flag("--collect", request.collect, "train nothing; write the tables, list missing jobs");
  app.add_flag("--dry-run", request.dry_run, "print the runs and how long they take here");
  app.add_flag("--retry", request.retry, "train failed runs again, from the start");
  app.add_flag("--force", request.force, "replace foreign tables, or lose rows of a table");
  app.add_option("--as-rank", request.as_rank,
                 "train as one of the ranks that this program has started, in this folder")
      ->group("");
  app.footer(
      "A job is a run. Its folder <out>/<run>-<seed> works with report, eval_<ablation> "
      "and train_<ablation> --resume. Complete runs with the same settings are kept; "
      "stopped runs continue with identical results. Rows of --earlier files, from "
      "this or another machine, replace runs with the same settings; repeatable.\n"
      "Writes <out>/<study>.md, .csv, -runs.csv, .json, .svg and .html, as --collect does; the tables and figures by "
      "Python 3.11.\n\n"
      "Examples:\n  sweep bigram_backcopy\n"
      "  sweep train/studies/weight_decay.toml --data data/english --dry-run\n\n"
      "With a scheduler, giving the same options each time:\n"
      "  sweep STUDY --list\n"
      "  sbatch --array=0-7 tools/launch/sweep_array.sbatch STUDY\n"
      "  seq 0 7 | parallel sweep STUDY --index {}\n"
      "  sweep STUDY --collect\n\n"
      "Exit codes: 0 done (runs may have diverged), 1 a run crashed, 2 usage, or a run "
      "folder in use, 3 bad input, a job whose start is not complete, or --collect "
      "with missing jobs, 4 corrupt checkpoint, 6 out of memory, 7 device, 8 disk, "
      "128 + n signal n; of runs that could not be trained, that of the first.");
}

// Returns false if help was printed.
bool parse(int argc, char** argv, Request& request) {
  CLI::App app("Trains the runs of a study and compares the results with the paper's.", "sweep");
  add_options(app, request);
  if (!parse_command_line(app, argc, argv)) return false;
  const int modes = request.list + request.index.has_value() + request.collect + request.dry_run;
  if (modes > 1) throw Error("--list, --index, --collect and --dry-run exclude each other; give one", Exit::usage);
  if (modes == 1 && request.study.empty()) throw Error("give a study, a TOML file; see --help", Exit::usage);
  if (request.index && request.workers) throw Error("--index runs one job; leave out --workers", Exit::usage);
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : request.seeds)
    if (!seeds.insert(seed).second)
      throw Error("--seeds: seed " + std::to_string(seed) + " is given twice; give each seed once", Exit::usage);
  for (const std::string& change : request.sets) {
    std::string flag = change.substr(0, change.find('='));
    const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
    const bool free = flag != "seed" && flag != "data" && flag != "threads";
    if (!setting || !is_saved(*setting) || change.size() == flag.size() || !free)
      throw Error("--set expects a setting of train_<ablation> and its value, as in learning-rate=0.01; got `" +
                      change + "`" + (setting ? "" : did_you_mean(flag, run_config_table())),
                  Exit::usage);
    setting->read(change.substr(flag.size() + 1), "--set " + flag);
    request.changes.emplace_back(setting->flag, change.substr(flag.size() + 1));
  }
  return true;
}

MachinePlan plan_of(const Request& request, const StudyState& sweep) {
  const std::int64_t cores = thread_count();
  MachinePlan plan{1, 1, "as given"};
  if (request.index && request.ranks == 1) {
    plan.measured = "one job";
  } else if (request.ranks > 1) {
    plan.threads = std::max<std::int64_t>(1, cores / request.ranks);
    plan.measured = std::to_string(request.ranks) + " ranks a run";
  } else if (!(request.workers && request.threads) && !sweep.todo.empty()) {
    const StudyRun& run = sweep.runs[sweep.todo.front()];
    if (!request.workers && !request.threads) {
      plan = fastest_plan({sweep.groups[run.group].ablation, run.config}, cores, sweep.todo.size());
    } else if (request.threads) {
      const bool on_cpu = run.config.device == "cpu";  // runs on one GPU share its memory
      plan.workers = on_cpu ? static_cast<std::size_t>(std::max<std::int64_t>(1, cores / *request.threads)) : 1;
    } else {
      plan.threads = std::max<std::int64_t>(1, cores / static_cast<std::int64_t>(*request.workers));
    }
  }
  if (request.workers) plan.workers = *request.workers;
  if (request.threads) plan.threads = *request.threads;
  return plan;
}

// The program with the options that determine the jobs and how each is run.
std::vector<std::string> command_of(const Request& request, const std::string& program) {
  std::vector<std::string> words{program, request.study, "--size", request.size};
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("--data", request.data);
  add("--chat", request.chat);
  add("--out", request.out);
  add("--seeds", joined(request.seeds, ",", [](std::uint64_t seed) { return std::to_string(seed); }));
  add("--only", joined(request.only, ","));
  for (const std::string& change : request.sets) add("--set", change);
  for (const std::string& file : request.earlier) add("--earlier", file);
  if (request.ranks > 1) add("--ranks", std::to_string(request.ranks));
  return words;
}

StudyState study_of(Request& request, const std::string& program) {
  StudyState state;
  request.study = find_study(request.study, studies_folder());
  state.study = read_study_file(request.study);
  state.size = request.size;
  if (request.out.empty()) request.out = "runs/" + state.study.name;
  state.groups = groups_of(state.study, request);
  state.runs = runs_of(state.study, request, state.groups);
  state.retry = request.retry;
  state.collects = request.collect;
  state.ranks = request.ranks;
  state.command = command_of(request, program);
  for (const StudyGroup& group : state.groups) require_ranks_divide(group.config, request.ranks);
  state.earlier_runs = EarlierRuns(request.earlier);
  return state;
}

void require_index(const StudyState& state, std::size_t index) {
  if (index < state.runs.size()) return;
  throw Error("--index must be from 0 to " + std::to_string(state.runs.size() - 1) + ": these options give " +
                  std::to_string(state.runs.size()) + " jobs, got " + std::to_string(index) +
                  "; `sweep STUDY --list` prints them",
              Exit::usage);
}

int exit_code_of(const JobsResult& end) {
  if (end.signal == 0) return end.exit_code;
  std::fprintf(stderr, "sweep: stopped by signal %d; the same command continues\n", end.signal);
  return 128 + end.signal;
}

// `--as-rank`: trains this job as one of its ranks. The process that started them has read its state; by now another
// rank may have moved the folder of a failed run away.
int run_rank(const Request& request, StudyState& state) {
  require_index(state, request.index.value());
  StudyRun& run = state.runs[*request.index];
  if (run.config.run != request.as_rank)
    throw Error(request.study + " has changed since this sweep began: job " + std::to_string(*request.index) + " is " +
                    run.config.run + " now, not " + request.as_rank + "; start the sweep again",
                Exit::usage);
  if (request.retry) start_again(run.config);
  run.config.threads = request.threads.value();
  return train_as_rank(run.config, state.groups[run.group].ablation);
}

int run_single(const Request& request, StudyState& state) {
  const std::size_t job = *request.index;
  require_index(state, job);
  read_states(state, job);
  const StudyRun& run = state.runs[job];
  if (state.todo.empty() && !lacks_interventions(state, job) && !keeps_optimizer_state(state, job)) {
    const bool failed =
        (state.earlier[job] ? state.earlier[job]->status : state.found[job].status) == RunStatus::failed;
    std::fprintf(stderr, "sweep: job %zu, %s: %s\n", job, printable(state.name(job)).c_str(),
                 failed ? "failed before; --retry trains it again" : "complete, nothing to do");
    return 0;
  }
  if (!state.todo.empty() && run.from && !is_complete(state.runs[*run.from]))
    throw Error("job " + std::to_string(job) + " starts from job " + std::to_string(*run.from) + ", " +
                    state.name(*run.from) + ", which is not complete; run that job first" +
                    (request.earlier.empty() ? "" : ", without --earlier: a row has no checkpoint"),
                Exit::bad_input);
  MachinePlan plan = plan_of(request, state);
  plan.workers = 1;
  return exit_code_of(run_jobs(state, plan, job));
}

// A row of --earlier has no checkpoint from which a run could start.
void require_starts(const StudyState& state) {
  for (const std::size_t job : state.todo)
    if (const auto& from = state.runs[job].from; from && state.earlier[*from] &&
                                                 state.earlier[*from]->status == RunStatus::complete &&
                                                 !is_complete(state.runs[*from]))
      throw Error(state.name(job) + " starts from the checkpoint of " + state.name(*from) +
                      ", which is only a row of " + state.earlier[*from]->file +
                      "; leave out this --earlier, or bring the folder of that run",
                  Exit::bad_input);
}

int run_all(const Request& request, StudyState& state, const StudyOutput& output) {
  read_states(state);
  require_starts(state);
  if (!request.force) output.require_rows_kept(state);
  const MachinePlan plan = plan_of(request, state);
  std::fprintf(stderr, "sweep: %s: %s, %zu to do; %zu at once, %s each (%s)\n", printable(state.study.name).c_str(),
               counted(std::ssize(state.runs), "run").c_str(), state.todo.size(), plan.workers,
               counted(plan.threads, "thread").c_str(), plan.measured.c_str());
  const JobsResult end = run_jobs(state, plan);
  if (end.signal == 0) output.write(state, request.force);
  return exit_code_of(end);
}

int collect(const Request& request, StudyState& state, const StudyOutput& output) {
  read_states(state);
  if (!request.force) output.require_rows_kept(state);
  output.write(state, request.force);
  return print_jobs_without_result(state) ? static_cast<int>(Exit::bad_input) : 0;
}

int run(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) return 0;
  if (!request.as_rank.empty()) {
    StudyState state = study_of(request, argv[0]);
    return run_rank(request, state);
  }
  // For train_<ablation> a launcher's processes are ranks. Here each process may only run its own job.
  const int processes = become_single_process();
  if (processes > 1 && !request.index)
    throw Error("mpirun or srun has started " + std::to_string(processes) +
                    " processes, which would all run the same study; start one, or give each a job by --index N",
                Exit::usage);
  if (std::string note = note_of_unbuilt_ablations(); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (request.study.empty()) return list_studies(studies_folder());
  StudyState state = study_of(request, argv[0]);
  if (request.list) {
    list_jobs(state);
    return 0;
  }
  if (request.dry_run) {
    read_states(state);
    if (request.ranks > 1) std::fprintf(stderr, "sweep: note: times are for runs with one rank\n");
    print_dry_run(state, plan_of(request, state));
    return 0;
  }
  if (request.index) return run_single(request, state);
  make_folders(request.out);
  const FolderLock lock(request.out);  // for the tables; each run folder has its own
  const StudyOutput output(request.out, state.study.name);
  output.require_free(request.force);
  output.require_no_input(request.earlier);
  return request.collect ? collect(request, state, output) : run_all(request, state, output);
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("sweep", [&] { return sink::run(argc, argv); });
}
