#include "tools/sweep/study_output.h"

#include <cstdio>
#include <filesystem>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "tools/report/chart_js.h"
#include "tools/report/page.h"
#include "tools/report/results_csv.h"
#include "tools/sweep/run_states.h"
#include "tools/sweep/study_picture.h"
#include "tools/sweep/study_table.h"

namespace sink {
namespace {

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

std::vector<StudyOutcome> outcomes_of(const std::vector<StudyRun>& runs,
                                      const std::vector<const EarlierRun*>& earlier) {
  std::vector<StudyOutcome> outcomes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StudyRun& run = runs[i];
    StudyOutcome outcome{run.arm, run.config.seed, std::nullopt, "", ""};
    if (earlier[i]) {
      outcome.run = earlier[i]->run;
      outcome.file = earlier[i]->file;
      if (earlier[i]->state == RunStanding::failed) outcome.problem = "failed: " + printable(outcome.run->failure);
      outcomes.push_back(outcome);
      continue;
    }
    const FoundRun found = found_run(run.config, [] { return std::string(); });
    if (report::is_run_folder(run.config.run)) outcome.run = report::read_run_folder(run.config.run);
    const std::string before = run.config.run + "/evaluation-before.json";
    if (run.from && std::filesystem::exists(before))
      outcome.before = report::read_measurements(before).front().evaluation;
    if (found.state == RunStanding::failed)
      outcome.problem = "failed: " + found.reason;
    else if (run.from && found_run(runs[*run.from].config, [] { return std::string(); }).state != RunStanding::complete)
      outcome.problem = "not begun: what it starts from, " + runs[*run.from].config.run + ", is not complete" +
                        (outcomes[*run.from].problem.empty() ? "" : " (" + outcomes[*run.from].problem + ")");
    else if (found.state != RunStanding::complete)
      outcome.problem = outcome.run ? "not finished, at step " + std::to_string(outcome.run->step) : "not begun";
    outcomes.push_back(outcome);
  }
  return outcomes;
}

void StudyOutput::print(const StudyFile& study, const std::string& size, const std::vector<StudyArm>& arms,
                        const std::vector<StudyOutcome>& outcomes) const {
  std::fputs(study_text(results_of(study, size, arms, outcomes)).c_str(), stdout);
}

void StudyOutput::write(const StudyFile& study, const std::string& size, const std::vector<StudyArm>& arms,
                        const std::vector<StudyOutcome>& outcomes) const {
  const StudyResults results = results_of(study, size, arms, outcomes);
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
        report::page(charted(outcomes), "Study " + study.name, report::read_chart_js(), 0, study_html(results));
    write_file_atomically(stem_ + ".html", page);
  } catch (const Error& error) { std::fprintf(stderr, "sweep: no page: %s\n", printable(error.what()).c_str()); }
}

}  // namespace sink
