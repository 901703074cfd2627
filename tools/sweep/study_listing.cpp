#include "tools/sweep/study_listing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "tools/csv.h"
#include "train/progress.h"

namespace sink {
namespace {

// Seconds of a step of every group, one measurement a shape.
std::vector<double> seconds_of(const std::vector<StudyGroup>& groups, const MachinePlan& plan) {
  std::map<std::string, std::size_t> place;
  std::vector<TimedRun> shapes;
  std::vector<std::size_t> shape_of_group;
  for (const StudyGroup& group : groups) {
    auto [found, is_new] = place.emplace(shape_of(group.config), shapes.size());
    if (is_new) {
      shapes.push_back({group.ablation, group.config});
      shapes.back().config.threads = plan.threads;
    }
    shape_of_group.push_back(found->second);
  }
  const std::vector<double> measured = seconds_per_step_of(shapes, plan.workers);
  std::vector<double> seconds;
  for (std::size_t shape : shape_of_group) seconds.push_back(measured[shape]);
  return seconds;
}

}  // namespace

int list_studies(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder))
    throw Error("give a study, a TOML file; there is no folder " + folder + " here whose studies could be listed",
                Exit::usage);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const StudyFile study = read_study_file(file);
    std::printf("%s\n  %s\n  paper: %s; %s\n", printable(file).c_str(), printable(study.question).c_str(),
                study.section.empty() ? "-" : printable(study.section).c_str(),
                study.cpu_hours.empty()
                    ? "how long it takes: --dry-run"
                    : ("about " + printable(study.cpu_hours) + " core-hours at --size cpu").c_str());
  }
  std::printf("\nsweep STUDY.toml runs one; --dry-run says what it would do and how long that takes here.\n");
  return 0;
}

void list_jobs(const std::vector<StudyGroup>& groups, const std::vector<StudyRun>& runs) {
  std::printf("index,run,ablation,seed,after,folder\n");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StudyRun& run = runs[i];
    std::printf("%zu,%s,%s,%llu,%s,%s\n", i, csv_field(groups[run.group].name).c_str(),
                csv_field(groups[run.group].ablation.name).c_str(), static_cast<unsigned long long>(run.config.seed),
                run.from ? std::to_string(*run.from).c_str() : "", csv_field(run.config.run).c_str());
  }
}

void print_dry_run_of_study(const StudyFile& study, const std::vector<StudyGroup>& groups,
                            const std::vector<StudyRun>& runs, const std::vector<std::size_t>& todo,
                            const MachinePlan& plan) {
  const std::vector<double> step = seconds_of(groups, plan);
  std::printf("%s: %s\n\n", printable(study.name).c_str(), printable(study.question).c_str());
  std::size_t widest = 3;
  for (const StudyGroup& group : groups) widest = std::max(widest, group.name.size());
  std::printf("%-*s  %6s  %9s  %9s  %9s  %s\n", static_cast<int>(widest), "run", "steps", "tokens", "ms/step", "a seed",
              "paper's row");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const RunConfig& config = groups[i].config;
    const double tokens = static_cast<double>(config.steps) * static_cast<double>(config.tokens_per_step());
    std::printf("%-*s  %6lld  %9.3g  %9.3g  %9s  %s\n", static_cast<int>(widest), groups[i].name.c_str(),
                static_cast<long long>(config.steps), tokens, step[i] * 1e3,
                std::isfinite(step[i]) ? duration(seconds_of_run(config, step[i])).c_str() : "?",
                groups[i].paper().value_or(StudyRow{}).id.c_str());
  }
  double seconds = 0;
  std::size_t unknown = 0;
  for (std::size_t run : todo) {
    const double own = seconds_of_run(runs[run].config, step[runs[run].group]);
    std::isfinite(own) ? seconds += own : ++unknown;
  }
  std::printf("\n%zu runs, %zu to do: about %s on this machine, %zu at once with %lld thread%s each (%s)\n",
              runs.size(), todo.size(), duration(seconds / static_cast<double>(plan.workers)).c_str(), plan.workers,
              static_cast<long long>(plan.threads), plan.threads == 1 ? "" : "s", plan.measured.c_str());
  if (unknown > 0) std::printf("%zu of them could not be measured and are not in this time\n", unknown);
}

}  // namespace sink
