// The results of a study: for every group means with intervals over its seeds, differences from the baseline seed by
// seed, and whether their directions are the paper's. Only complete runs count; the others are listed with the reason.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/report/statistics.h"
#include "tools/sweep/study_runs.h"

namespace sink {

// A measure of a run; `key` is the column of the CSV. Sinks are in percent, with threshold 0.3. row_sum includes the
// extra key, which row_mass of <study>-runs.csv leaves out.
struct StudyMeasure {
  const char* key;    // "sink_1"
  const char* title;  // "Sink_1 %"
  int decimals;
};
const std::vector<StudyMeasure>& measures();

// A run as its folder or an earlier table describes it.
struct StudyOutcome {
  std::size_t group = 0;
  std::uint64_t seed = 0;
  std::optional<report::Run> run;                 // none: not begun
  std::string problem;                            // why it is not complete; empty: it is
  std::string file;                               // the earlier table whose row replaces it; empty: its folder
  std::optional<report::Measurement> before = {};  // of the checkpoint from which it started, on the new data
};

struct GroupResult {
  StudyGroup group;
  std::map<std::string, BySeed> values;  // by the key of the measure, for runs that have it
  std::vector<std::string> remarks;      // "seed 1: the loss was not finite ...", skipped steps
  Estimate estimate(const std::string& measure) const;
};

struct StudyResults {
  StudyFile study;
  std::string size;
  std::vector<std::uint64_t> seeds;
  std::vector<GroupResult> groups;
  std::optional<std::size_t> baseline;  // index in groups; none if --only left it out
  std::size_t complete = 0, runs = 0;
  double core_hours = 0;                       // of complete runs: wall time times ranks and threads
  std::vector<std::string> commits, machines;  // of complete runs, if known
  std::map<std::string, std::size_t> earlier;  // number of runs taken from each earlier table

  // Group minus baseline, seed by seed; n = 0 for the baseline itself.
  Estimate difference(const GroupResult& group, const std::string& measure) const;
};

StudyResults results_of(const StudyFile& study, const std::string& size, const std::vector<StudyGroup>& groups,
                        const std::vector<StudyOutcome>& outcomes);

// The paper's value, for "18.18" or "0.44*"; none for "failed", "n.r.", "<1", "inf" and the like.
std::optional<double> paper_value(const std::string& text);

// The verdict (tools/report/verdict.h) on the claim that a group's Sink_1 differs from the baseline's as in the paper:
// "supported: more", "contradicted: less"; "more" or "less" if the paper has no row of the same input for one of them;
// "undecided [-1.2, 3.4]", "too small to tell", "not tested: one run"; "" without runs to compare.
std::string direction(const StudyResults& results, const GroupResult& group);

// The sentences below the table: whether Sink_1, Sink_* and the loss have the paper's order, on the same kind of input
// or, if too few rows match, with both inputs named; and, with interventions, which scores have the order of the loss
// without the first token's contribution (Kendall's tau of means).
std::vector<std::string> verdicts(const StudyResults& results);

// ---- As a table for a terminal, Markdown, CSV, a section of an HTML page (study_table.cpp) and an SVG figure
// (study_picture.cpp). The same results give the same bytes.

// The first line of the Markdown, by which `sweep` recognizes its own files.
inline constexpr const char* kMarkdownMark = "<!-- made by sweep -->\n";

std::string study_text(const StudyResults& results);
std::string study_markdown(const StudyResults& results);
// One line per group: name, ablation, seeds; for every measure the mean, the ends of its interval, and the same for the
// difference from the baseline; the paper's row, the verdict and remarks. Unknown values are empty fields.
std::string study_csv(const StudyResults& results);
std::string study_html(const StudyResults& results);
// One row per group with a complete run: its seeds, mean and interval, and the paper's value. Panels with their own
// scale: Sink_1 by proxy weights, and raw if the two differ; Sink_*; the loss minus the baseline's; and, if
// interventions were measured, how much the loss increases without a_1 v_1.
std::string study_svg(const StudyResults& results);

}  // namespace sink
