#include "tools/sweep/study_output.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "tools/report/chart_js.h"
#include "tools/report/page.h"
#include "tools/report/results_csv.h"
#include "tools/sweep/study_picture.h"
#include "tools/sweep/study_results.h"
#include "tools/sweep/study_table.h"

namespace sink {
namespace {

constexpr std::size_t kMostListed = 20;   // jobs without a result
constexpr std::size_t kMostCharted = 40;  // runs on a page: more lines no eye tells apart

// All runs, or those of the first seed where that is too many.
std::vector<report::Run> charted(const std::vector<StudyOutcome>& outcomes) {
  std::vector<report::Run> all, first;
  for (const StudyOutcome& outcome : outcomes) {
    if (!outcome.run || !outcome.file.empty()) continue;
    all.push_back(*outcome.run);
    if (outcome.seed == outcomes.front().seed && first.size() < kMostCharted) first.push_back(*outcome.run);
  }
  return all.size() <= kMostCharted ? all : first;
}

// The outcome of each run now, in its folder or in the row that replaces it.
std::vector<StudyOutcome> outcomes_of(const StudyState& state) {
  const std::vector<StudyRun>& runs = state.runs;
  std::vector<StudyOutcome> outcomes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StudyRun& run = runs[i];
    StudyOutcome outcome{run.group, run.config.seed, std::nullopt, "", ""};
    if (const EarlierRun* earlier = state.earlier[i]) {
      outcome.run = earlier->run;
      outcome.file = earlier->file;
      if (earlier->status == RunStatus::failed) outcome.problem = "failed: " + printable(outcome.run->failure);
      outcomes.push_back(outcome);
      continue;
    }
    const FoundRun found = found_run(run.config, [] { return std::string(); });
    if (report::is_run_folder(run.config.run)) outcome.run = report::read_run_folder(run.config.run);
    const std::string before = run.config.run + "/evaluation-before.json";
    if (run.from && std::filesystem::exists(before))
      outcome.before = report::read_measurements(before).front().evaluation;
    if (found.status == RunStatus::failed)
      outcome.problem = "failed: " + found.reason;
    else if (run.from && found_run(runs[*run.from].config, [] { return std::string(); }).status != RunStatus::complete)
      outcome.problem = "not begun: what it starts from, " + runs[*run.from].config.run + ", is not complete" +
                        (outcomes[*run.from].problem.empty() ? "" : " (" + outcomes[*run.from].problem + ")");
    else if (found.status != RunStatus::complete)
      outcome.problem = outcome.run ? "not finished, at step " + std::to_string(outcome.run->step) : "not begun";
    outcomes.push_back(outcome);
  }
  return outcomes;
}

// Why a job is not complete, by what its folder holds.
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
  for (std::size_t i = 0; i < jobs.size() && i < kMostListed; ++i)
    std::fprintf(stderr, "  %s: job %zu, %s: %s\n", title, jobs[i], printable(state.name(jobs[i])).c_str(),
                 reason_of(state, jobs[i]).c_str());
  if (jobs.size() > kMostListed) std::fprintf(stderr, "  and %zu more\n", jobs.size() - kMostListed);
}

}  // namespace

void StudyOutput::require_free(bool force) const {
  require_output(stem_ + ".md", kind_by_text("a table of `sweep`", kMarkdownMark), force);
  require_output(stem_ + ".csv", kind_by_text("a table of `sweep`", "study,size,run,"), force);
  require_output(stem_ + "-runs.csv", kind_by_text("a table of `sweep`", "run,", {"sink_1"}), force);
  require_output(stem_ + ".svg", kind_by_text("a picture of `sweep`", "<svg xmlns"), force);
  require_output(stem_ + ".html", kind_by_text("a page of `sweep`", "<!doctype html>", {"Sinklab report"}), force);
}

void StudyOutput::require_no_input(const std::vector<std::string>& files) const {
  std::error_code error;
  for (const std::string& file : files)
    if (std::filesystem::equivalent(file, stem_ + "-runs.csv", error))
      throw Error("--earlier " + file + " is what this sweep writes: move it, or give another --out", Exit::usage);
}

void StudyOutput::write(const StudyState& state) const {
  const std::vector<StudyOutcome> outcomes = outcomes_of(state);
  const StudyResults results = results_of(state.study, state.size, state.groups, outcomes);
  std::vector<report::Run> read;
  for (const StudyOutcome& outcome : outcomes)
    if (outcome.run) read.push_back(*outcome.run);
  write_file_atomically(stem_ + ".csv", study_csv(results));
  write_file_atomically(stem_ + "-runs.csv", report::results_csv(read));
  write_file_atomically(stem_ + ".md", study_markdown(results));
  write_file_atomically(stem_ + ".svg", study_svg(results));
  std::fputs(study_text(results).c_str(), stdout);
  try {
    const std::string page =
        report::page(charted(outcomes), "Study " + state.study.name, report::read_chart_js(), 0, study_html(results));
    write_file_atomically(stem_ + ".html", page);
  } catch (const Error& error) { std::fprintf(stderr, "sweep: no page: %s\n", printable(error.what()).c_str()); }
}

JobsWithoutResult jobs_without_result(const StudyState& state) {
  JobsWithoutResult jobs;
  std::vector<bool> failed(state.runs.size());
  for (std::size_t run = 0; run < state.runs.size(); ++run) {
    const auto& from = state.runs[run].from;  // comes before it
    const RunStatus own = state.earlier[run] ? state.earlier[run]->status : state.found[run].status;
    if (own == RunStatus::complete && !lacks_interventions(state, run)) continue;
    failed[run] = own == RunStatus::failed || (own != RunStatus::complete && from && failed[*from]);
    (failed[run] ? jobs.failed : jobs.missing).push_back(run);
  }
  return jobs;
}

void print_jobs_without_result(const StudyState& state, const JobsWithoutResult& jobs) {
  std::fprintf(stderr, "sweep: %s: %zu jobs: %zu complete, %zu failed, %zu missing\n",
               printable(state.study.name).c_str(), state.runs.size(),
               state.runs.size() - jobs.failed.size() - jobs.missing.size(), jobs.failed.size(), jobs.missing.size());
  print_jobs(state, "failed", jobs.failed);
  print_jobs(state, "missing", jobs.missing);
  std::string options;
  for (std::size_t i = 1; i < state.command.size(); ++i) options.append(" ").append(shell_word(state.command[i]));
  const std::string sweep = shell_word(state.command.front()) + options;
  std::vector<std::size_t> ready;  // of what is missing, what does not wait for another
  std::string indices;
  for (std::size_t run : jobs.missing) {
    const auto& from = state.runs[run].from;
    if (from && std::binary_search(jobs.missing.begin(), jobs.missing.end(), *from)) continue;
    ready.push_back(run);
    indices.append(" ").append(std::to_string(run));
  }
  if (!ready.empty())
    std::fprintf(stderr,
                 "sweep: to run what is missing%s:\n"
                 "  one job at a time: %s --index %zu\n"
                 "  GNU parallel:      parallel -q %s --index {} :::%s\n"
                 "  Slurm:             sbatch --array=%s tools/launch/sweep_array.sbatch%s\n",
                 ready.size() < jobs.missing.size() ? " (then what starts from it; --collect again names those)" : "",
                 sweep.c_str(), ready.front(), sweep.c_str(), indices.c_str(), index_ranges(ready).c_str(),
                 options.c_str());
  if (!jobs.failed.empty())
    std::fprintf(stderr, "sweep: to train what failed again: %s --retry --index N, N of %s\n", sweep.c_str(),
                 index_ranges(jobs.failed).c_str());
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

}  // namespace sink
