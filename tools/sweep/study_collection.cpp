#include "tools/sweep/study_collection.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "engine/io/printable.h"

namespace sink {
namespace {

constexpr std::size_t kMostListed = 20;

// Why a job is not complete, by what its folder holds.
std::string reason_of(const StudyState& state, std::size_t run) {
  if (state.earlier[run]) return printable(state.earlier[run]->run.failure);
  const FoundRun& found = state.found[run];
  if (found.state == RunStanding::complete) return "complete, but its interventions are not measured";
  if (found.state == RunStanding::failed) return found.reason;
  const auto& from = state.runs[run].from;
  if (from && state.found[*from].state != RunStanding::complete)
    return "starts from job " + std::to_string(*from) + ", which is not complete";
  return found.state == RunStanding::begun ? "begun, not finished" : "not begun";
}

void print_jobs(const StudyState& state, const char* title, const std::vector<std::size_t>& jobs) {
  for (std::size_t i = 0; i < jobs.size() && i < kMostListed; ++i)
    std::fprintf(stderr, "  %s: job %zu, %s: %s\n", title, jobs[i], printable(state.name(jobs[i])).c_str(),
                 reason_of(state, jobs[i]).c_str());
  if (jobs.size() > kMostListed) std::fprintf(stderr, "  and %zu more\n", jobs.size() - kMostListed);
}

}  // namespace

JobsWithoutResult jobs_without_result(const StudyState& state) {
  JobsWithoutResult jobs;
  std::vector<bool> failed(state.runs.size());
  for (std::size_t run = 0; run < state.runs.size(); ++run) {
    const auto& from = state.runs[run].from;  // comes before it
    const RunStanding own = state.earlier[run] ? state.earlier[run]->state : state.found[run].state;
    if (own == RunStanding::complete && !lacks_interventions(state, run)) continue;
    failed[run] = own == RunStanding::failed || (own != RunStanding::complete && from && failed[*from]);
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
