// sweep: trains every ablation on Bigram-Backcopy from several seeds, with the same initial values and batches, and
// makes one table of it. Each result is a file of its own, so a sweep that was stopped goes on where it was.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/output_kind.h"
#include "engine/io/program.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tools/sweep/sweep_job.h"
#include "tools/sweep/sweep_table.h"
#include "tools/sweep/worker_processes.h"
#include "train/progress.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

struct Job {
  const Ablation* ablation;
  RunConfig config;  // its run is the result's file
  const std::string& path() const { return config.run; }
  std::string name() const { return ablation->name + " seed " + std::to_string(config.seed); }
};

struct Request {
  std::vector<std::string> only, changes;
  std::vector<std::uint64_t> seeds{0, 1, 2};
  std::string out = "runs/sweep";
  std::optional<std::int64_t> steps;
  std::size_t workers = std::max(1u, std::thread::hardware_concurrency());
  bool force = false;
};

// False when help was asked for and printed.
bool parse(int argc, char** argv, Request& request) {
  CLI::App app(
      "Trains every ablation on Bigram-Backcopy, one process a core, and prints one table. Writes into the folder "
      "--out\n"
      "<ablation>-<seed>.json, results.csv and table.md. Results that are there already are kept: stop it at any "
      "moment\n"
      "and give the same command again.");
  app.add_option("--only", request.only, "these ablations, a,b,c; default: all")->delimiter(',');
  app.add_option("--seeds", request.seeds, "of initial values, task and batches")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--steps", request.steps, "instead of the recipe's " + std::to_string(sweep_recipe().steps));
  app.add_option("--set", request.changes, "another setting of the recipe, as in --set learning-rate=0.01");
  app.add_option("--out", request.out, "folder")->capture_default_str();
  app.add_option("--workers", request.workers, "processes at once, of one thread each")->capture_default_str();
  app.add_flag("--force", request.force, "make every result again, and replace files that `sweep` did not make");
  app.footer(
      "Examples:\n  sweep\n  sweep --only baseline,bias_k --seeds 0 --out runs/two\n\n"
      "Exit codes: 0 done (whatever diverged), 1 a job crashed, 2 usage, 3 a result that cannot be read, 8 disk,\n"
      "128 + n stopped by signal n.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return false;
  } catch (const CLI::ParseError& error) { throw Error(std::string(error.what()) + "; see --help", Exit::usage); }
  SINK_CHECK(request.workers >= 1 && request.workers <= 1024, "sweep", "--workers must be from 1 to 1024", Exit::usage);
  SINK_CHECK(!request.seeds.empty(), "sweep", "--seeds needs a seed", Exit::usage);
  return true;
}

RunConfig recipe_of(const Request& request) {
  RunConfig recipe = sweep_recipe();
  std::vector<std::string> changes = request.changes;
  if (request.steps) changes.push_back("steps=" + std::to_string(*request.steps));
  for (const std::string& change : changes) {
    std::string flag = change.substr(0, change.find('='));
    const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
    SINK_CHECK(setting && is_saved(*setting) && change.size() > flag.size() && flag != "task" && flag != "seed",
               "sweep",
               "--set takes a setting of train_<ablation> and its value, as in learning-rate=0.01; got `" + change +
                   "`" + did_you_mean(flag, run_config_table()),
               Exit::usage);
    setting->set(recipe, change.substr(flag.size() + 1), "--set " + flag);
  }
  return recipe;
}

// All ablations of the first seed come first: a sweep that is stopped early has compared them all.
std::vector<Job> jobs_of(const Request& request, const RunConfig& recipe) {
  std::vector<const Ablation*> chosen;
  for (const std::string& name : request.only) {
    const Ablation* ablation = &ablation_named(name);
    if (std::find(chosen.begin(), chosen.end(), ablation) == chosen.end()) chosen.push_back(ablation);
  }
  if (request.only.empty())
    for (const Ablation& ablation : all_ablations()) chosen.push_back(&ablation);
  std::vector<Job> jobs;
  std::set<std::uint64_t> seen;  // the same seed twice is no second seed
  for (std::uint64_t seed : request.seeds)
    for (const Ablation* ablation : seen.insert(seed).second ? chosen : std::vector<const Ablation*>()) {
      RunConfig config = job_config(recipe, ablation->name, seed);
      config.run = request.out + "/" + ablation->name + "-" + std::to_string(seed) + ".json";
      jobs.push_back({ablation, config});
    }
  require_consistent(jobs.front().config, *jobs.front().ablation);
  return jobs;
}

bool has_result(const Job& job) {
  if (!std::filesystem::exists(job.path())) return false;
  SweepResult result = sweep_result_from_json(read_file("sweep", job.path()), job.path());
  SINK_CHECK(result.settings == to_toml(job.config), "sweep",
             job.path() + " was made with other settings; give another --out, or --force to make it again",
             Exit::usage);
  return true;
}

// In a process of its own.
int do_job(const Job& job) {
  return run_program("sweep", [&] {
    set_thread_count(1);
    write_file_atomically(job.path(), to_json(train_job(job.config, *job.ablation)));
    return 0;
  });
}

int run(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) return 0;
  if (std::string note = note_of_unbuilt_ablations(); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  RunConfig recipe = recipe_of(request);
  std::vector<Job> jobs = jobs_of(request, recipe), todo;
  std::filesystem::create_directories(request.out);
  FolderLock lock(request.out);
  const std::string csv = request.out + "/results.csv", markdown = request.out + "/table.md";
  require_output(csv, kind_by_text("a table of `sweep`", "ablation,"), request.force);
  require_output(markdown, kind_by_text("a table of `sweep`", "| ablation"), request.force);
  for (const Job& job : jobs)
    if (request.force || !has_result(job)) todo.push_back(job);
  std::fprintf(stderr, "sweep: %zu jobs, %zu of them done before; %zu at once\n", jobs.size(),
               jobs.size() - todo.size(), request.workers);

  std::vector<std::string> crashed;
  std::size_t ended = 0;
  auto start = std::chrono::steady_clock::now();
  int signal = run_in_processes(
      todo.size(), request.workers, [&](std::size_t i) { return do_job(todo[i]); },
      [&](const JobEnd& end) {
        const Job& job = todo[end.job];
        ++ended;
        double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        double left = passed / static_cast<double>(ended) * static_cast<double>(todo.size() - ended);
        std::string what;
        if (end.exit_code != 0) {
          what = "crashed, exit code " + std::to_string(end.exit_code);
          crashed.push_back(job.name() + ": " + what);
        } else {
          SweepResult r = sweep_result_from_json(read_file("sweep", job.path()), job.path());
          char text[160];
          std::snprintf(text, sizeof text, "loss %.3f (best %.3f), alpha_1 %.3f, raw %.3f", r.loss, r.best_loss,
                        r.alpha_1, r.alpha_1_raw);
          what = r.error.empty() ? text : r.error;
        }
        std::fprintf(stderr, "[%zu/%zu] %s: %s; %.1f s, %s left\n", ended, todo.size(), job.name().c_str(),
                     what.c_str(), end.seconds, duration(left).c_str());
      });
  if (signal) {
    std::fprintf(stderr, "sweep: stopped by signal %d; the same command goes on\n", signal);
    return 128 + signal;
  }

  std::vector<SweepResult> results;
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.ablation < b.ablation; });
  for (const Job& job : jobs)
    if (std::filesystem::exists(job.path()))
      results.push_back(sweep_result_from_json(read_file("sweep", job.path()), job.path()));
  std::string table = sweep_table(results, recipe, crashed);
  write_file_atomically(csv, results_csv(results));
  write_file_atomically(markdown, table);
  std::fputs(table.c_str(), stdout);
  return crashed.empty() ? 0 : static_cast<int>(Exit::failure);
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("sweep", [&] { return sink::run(argc, argv); });
}
