#include "tools/sweep/study_output.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "engine/check.h"
#include "engine/io/csv.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "tools/report/results_csv.h"
#include "tools/sweep/study_tables.h"
#include "train/progress.h"

namespace sink {
namespace {

constexpr std::size_t kMaxListed = 20;  // jobs without a result

// The step of an onset depends on how often was measured, as no other value does: of a run that was measured at other
// steps than the study's it is unknown. Returns whether the run had one.
bool leave_out_other_onsets(const RunConfig& wanted, report::Run& run) {
  const auto every = run.settings.find("eval-every");
  if (!run.evaluation || every == run.settings.end() || every->second == std::to_string(wanted.eval_every))
    return false;
  return std::erase_if(run.evaluation->scalar, [](const auto& value) { return value.first.starts_with("onset_"); }) > 0;
}

// The current outcome of each run, from its folder or from the row that replaces it.
std::vector<StudyOutcome> outcomes_of(const StudyState& state) {
  const std::vector<StudyRun>& runs = state.runs;
  std::vector<StudyOutcome> outcomes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StudyRun& run = runs[i];
    StudyOutcome outcome;
    if (const EarlierRun* earlier = state.earlier[i]) {
      outcome.run = earlier->run;
      outcome.file = earlier->file;
      if (earlier->status == RunStatus::failed) outcome.problem = "failed: " + printable(outcome.run->failure);
      outcomes.push_back(outcome);
      continue;
    }
    const FoundRun found = found_run(run.config);
    if (report::is_run_folder(run.config.run)) outcome.run = report::read_run_folder(run.config.run);
    const std::string before = run.config.run + "/evaluation-before.json";
    if (run.from && std::filesystem::exists(before)) {
      const report::Run start = report::read_measurements(before).front();
      require_own_measurement(start, before, run.config);
      outcome.before = start.evaluation;
    }
    if (found.status == RunStatus::failed)
      outcome.problem = "failed: " + found.reason;
    else if (found.status != RunStatus::complete && run.from &&
             found_run(runs[*run.from].config).status != RunStatus::complete)
      outcome.problem = "not begun: " + runs[*run.from].config.run + ", from which it starts, is not complete" +
                        (outcomes[*run.from].problem.empty() ? "" : " (" + outcomes[*run.from].problem + ")");
    else if (found.status != RunStatus::complete)
      outcome.problem = outcome.run ? "not finished, at step " + std::to_string(outcome.run->step) : "not begun";
    outcomes.push_back(outcome);
  }
  return outcomes;
}

// Why a job is not complete.
std::string reason_of(const StudyState& state, std::size_t run) {
  if (state.earlier[run]) return printable(state.earlier[run]->run.failure);
  const FoundRun& found = state.found[run];
  if (found.status == RunStatus::complete) return "complete, but its interventions are not measured";
  if (found.status == RunStatus::failed) return found.reason;
  const auto& from = state.runs[run].from;
  if (from && state.found[*from].status != RunStatus::complete)
    return "starts from job " + std::to_string(*from) + ", which is not complete";
  return found.status == RunStatus::begun ? "begun, not finished" : "not begun";
}

void print_jobs(const StudyState& state, const char* title, const std::vector<std::size_t>& jobs) {
  for (std::size_t i = 0; i < jobs.size() && i < kMaxListed; ++i)
    std::fprintf(stderr, "  %s: job %zu, %s: %s\n", title, jobs[i], printable(state.name(jobs[i])).c_str(),
                 reason_of(state, jobs[i]).c_str());
  if (jobs.size() > kMaxListed) std::fprintf(stderr, "  and %zu more\n", jobs.size() - kMaxListed);
}

// Seconds per step of every group; groups with the same timing_key are measured once.
std::vector<double> seconds_of(const std::vector<StudyGroup>& groups, const MachinePlan& plan) {
  std::map<std::string, std::size_t> index;
  std::vector<TimedRun> timed;
  std::vector<std::size_t> of_group;
  for (const StudyGroup& group : groups) {
    auto [found, is_new] = index.emplace(timing_key(group.config), timed.size());
    if (is_new) {
      timed.push_back({group.ablation, group.config});
      timed.back().config.threads = plan.threads;
    }
    of_group.push_back(found->second);
  }
  const std::vector<double> measured = seconds_per_step_of(timed, plan.workers);
  std::vector<double> seconds;
  for (std::size_t n : of_group) seconds.push_back(measured[n]);
  return seconds;
}

}  // namespace

void StudyOutput::require_free(bool force) const {
  require_output(stem_ + ".json", kind_by_text("a file of `sweep`", "{\n \"", {"\"planned_steps\""}), force);
  require_output(stem_ + ".md", kind_by_text("a table of `sweep`", "<!-- made by sweep -->\n"), force);
  require_output(stem_ + ".csv", kind_by_text("a table of `sweep`", "study,size,run,"), force);
  require_output(stem_ + "-runs.csv", kind_by_text("a table of `sweep`", "run,", {"sink_1"}), force);
  require_output(stem_ + ".svg", kind_by_text("a picture of `sweep`", "<svg xmlns"), force);
  require_output(stem_ + ".html", kind_by_text("a page of `sweep`", "<!doctype html>", {"Sinklab report"}), force);
}

void StudyOutput::require_no_input(const std::vector<std::string>& files) const {
  std::error_code error;
  for (const std::string& file : files)
    if (std::filesystem::equivalent(file, stem_ + "-runs.csv", error))
      throw Error("--earlier " + file + " is an output of this sweep: move it, or give another --out", Exit::usage);
}

void StudyOutput::require_rows_kept(const StudyState& state) const {
  const std::string file = stem_ + "-runs.csv";
  require_regular_file(file);
  std::error_code error;
  if (!std::filesystem::exists(file) || std::filesystem::file_size(file, error) == 0) return;
  std::set<std::string> kept;  // names of runs
  for (std::size_t i = 0; i < state.runs.size(); ++i)
    if (const EarlierRun* row = state.earlier[i]; row ? row->status == RunStatus::complete : !state.collects)
      kept.insert(std::filesystem::path(state.name(i)).filename().string());
  std::vector<std::string> lost;
  for (const report::Run& row : report::read_results_csv(read_file("sweep", file), file))
    if (row.finished && row.step == row.steps && !kept.contains(row.name) &&
        !std::filesystem::exists(folder_ + "/" + row.name + "/evaluation.json"))
      lost.push_back(row.name);
  if (lost.empty()) return;
  throw Error(file + " has " + counted(std::ssize(lost), "complete run") + ", such as " + printable(lost.front()) +
                  ", without a folder here, which a new table would not have; move the file and give it with "
                  "--earlier, or lose them with --force",
              Exit::usage);
}

void StudyOutput::write(const StudyState& state, bool force) const {
  const std::vector<StudyOutcome> outcomes = outcomes_of(state);
  std::vector<report::Run> read;
  std::size_t other_onsets = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].run) {
      read.push_back(*outcomes[i].run);
      other_onsets += leave_out_other_onsets(state.runs[i].config, read.back());
    }
  if (other_onsets > 0)
    std::fprintf(stderr, "sweep: the onsets of %s are left out: measured at other steps than those of the study\n",
                 counted(static_cast<std::int64_t>(other_onsets), "run").c_str());
  write_files_atomically(
      {{stem_ + "-runs.csv", report::results_csv(read)}, {stem_ + ".json", study_json(state, outcomes)}});
  make_tables(stem_ + ".json", force);
}

bool print_jobs_without_result(const StudyState& state) {
  std::vector<std::size_t> missing, failed;
  std::vector<bool> has_failed(state.runs.size());
  for (std::size_t run = 0; run < state.runs.size(); ++run) {
    const auto& from = state.runs[run].from;  // an earlier index
    const RunStatus own = state.earlier[run] ? state.earlier[run]->status : state.found[run].status;
    if (own == RunStatus::complete && !lacks_interventions(state, run)) continue;
    has_failed[run] = own == RunStatus::failed || (own != RunStatus::complete && from && has_failed[*from]);
    (has_failed[run] ? failed : missing).push_back(run);
  }
  std::fprintf(stderr, "sweep: %s: %zu jobs: %zu complete, %zu failed, %zu missing\n",
               printable(state.study.name).c_str(), state.runs.size(),
               state.runs.size() - failed.size() - missing.size(), failed.size(), missing.size());
  print_jobs(state, "failed", failed);
  print_jobs(state, "missing", missing);
  std::string options;
  for (std::size_t i = 1; i < state.command.size(); ++i) options.append(" ").append(shell_word(state.command[i]));
  const std::string sweep = shell_word(state.command.front()) + options;
  std::vector<std::size_t> ready;  // missing jobs that need no other missing job first
  std::string indices;
  for (std::size_t run : missing) {
    const auto& from = state.runs[run].from;
    if (from && std::binary_search(missing.begin(), missing.end(), *from)) continue;
    ready.push_back(run);
    indices.append(" ").append(std::to_string(run));
  }
  if (!ready.empty())
    std::fprintf(stderr,
                 "sweep: to run the missing jobs%s:\n"
                 "  one job at a time: %s --index %zu\n"
                 "  GNU parallel:      parallel -q %s --index {} :::%s\n"
                 "  Slurm:             sbatch --array=%s tools/launch/sweep_array.sbatch%s\n",
                 ready.size() < missing.size() ? " (run --collect again for the jobs that start from them)" : "",
                 sweep.c_str(), ready.front(), sweep.c_str(), indices.c_str(), index_ranges(ready).c_str(),
                 options.c_str());
  if (!failed.empty())
    std::fprintf(stderr, "sweep: to train the failed jobs again: %s --retry --index N, N of %s\n", sweep.c_str(),
                 index_ranges(failed).c_str());
  return !missing.empty();
}

std::string index_ranges(const std::vector<std::size_t>& indices) {
  std::string text;
  for (std::size_t first = 0; first < indices.size();) {
    std::size_t last = first;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    text.append(text.empty() ? "" : ",").append(std::to_string(indices[first]));
    if (last > first) text.append("-").append(std::to_string(indices[last]));
    first = last + 1;
  }
  return text;
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string("_-+=./,:@%").find(static_cast<char>(c)) != std::string::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (char c : printable(word)) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

int list_studies(const std::string& folder) {
  if (folder.empty())
    throw Error("give a study, a TOML file; there is no folder train/studies here whose studies could be listed",
                Exit::usage);
  for (const std::string& file : study_files(folder)) {
    const StudyFile study = read_study_file(file);
    std::printf("%s\n  %s\n  %s; %s\n", printable(file).c_str(), printable(study.question).c_str(),
                study.section.empty() ? "not in the paper" : ("paper: " + printable(study.section)).c_str(),
                study.cpu_hours.empty()
                    ? "time: see --dry-run"
                    : ("about " + printable(study.cpu_hours) + " core-hours at --size cpu").c_str());
  }
  std::printf(
      "\n`sweep STUDY` runs a study, as in `sweep weight_decay`; --dry-run shows its runs and how long they take "
      "here.\n");
  return 0;
}

void list_jobs(const StudyState& state) {
  std::printf("index,run,ablation,seed,after,folder\n");
  for (std::size_t i = 0; i < state.runs.size(); ++i) {
    const StudyRun& run = state.runs[i];
    const StudyGroup& group = state.groups[run.group];
    std::printf("%zu,%s,%s,%llu,%s,%s\n", i, csv_field(group.name).c_str(), csv_field(group.ablation.name).c_str(),
                static_cast<unsigned long long>(run.config.seed), run.from ? std::to_string(*run.from).c_str() : "",
                csv_field(run.config.run).c_str());
  }
}

void print_dry_run(const StudyState& state, const MachinePlan& plan) {
  const std::vector<StudyGroup>& groups = state.groups;
  const std::vector<double> step = seconds_of(groups, plan);
  std::printf("%s: %s\n\n", printable(state.study.name).c_str(), printable(state.study.question).c_str());
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
                groups[i].paper().value_or(PaperRow{}).id.c_str());
  }
  double seconds = 0, longest = 0;
  std::size_t unknown = 0;
  for (std::size_t run : state.todo) {
    const double own = seconds_of_run(state.runs[run].config, step[state.runs[run].group]);
    std::isfinite(own) ? seconds += own : ++unknown;
    if (std::isfinite(own)) longest = std::max(longest, own);
  }
  const std::size_t at_once = std::min(plan.workers, std::max<std::size_t>(1, state.todo.size()));
  std::printf("\n%s, %zu to do: about %s on this machine, %zu at once with %s each (%s)\n",
              counted(std::ssize(state.runs), "run").c_str(), state.todo.size(),
              duration(std::max(longest, seconds / static_cast<double>(at_once))).c_str(), plan.workers,
              counted(plan.threads, "thread").c_str(), plan.measured.c_str());
  if (unknown > 0) std::printf("The time excludes %zu runs that could not be measured.\n", unknown);
  std::fflush(stdout);
  if (unknown > 0 && unknown == state.todo.size())
    throw Error("none of the runs can begin here; the warnings above say why", Exit::bad_input);
}

}  // namespace sink
