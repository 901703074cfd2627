// What a study found: for every group means with intervals over its seeds, differences from the baseline seed by seed,
// and whether they go where the paper's go. Only complete runs count; the others are named with their reason.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/report/statistics.h"
#include "tools/sweep/study_runs.h"

namespace sink {

// What is measured of a run, by a name that is the CSV's column; sinks in percent at 0.3.
struct Measure {
  const char* key;    // "sink_1"
  const char* title;  // "Sink_1 %"
  int decimals;
};
const std::vector<Measure>& measures();

// A run as its folder has it, or an earlier table.
struct StudyOutcome {
  std::size_t group = 0;
  std::uint64_t seed = 0;
  std::optional<report::Run> run;  // none: not begun
  std::string problem;             // why it is not complete; empty: it is
  std::string file;                // the earlier table whose row replaces it (run_states.h); empty: its folder
  std::optional<report::Evaluation> before =
      {};  // of one that starts from another: what that measured, on the new data
};

struct GroupResult {
  StudyGroup group;
  std::map<std::string, BySeed> values;  // of measures(), where a run has them
  std::vector<std::string> remarks;      // "seed 1: the loss was not finite ...", steps that were skipped
  Estimate estimate(const std::string& measure) const;
};

struct StudyResults {
  StudyFile study;
  std::string size;
  std::vector<std::uint64_t> seeds;
  std::vector<GroupResult> groups;
  std::optional<std::size_t> baseline;  // of groups; none where --only left it out
  std::size_t complete = 0, runs = 0;
  double core_hours = 0;                       // of complete runs: their clocks times their threads
  std::vector<std::string> commits, machines;  // of complete runs, where they are known
  std::map<std::string, std::size_t> earlier;  // by the file that they stand in, runs that stand in no folder

  // Arm minus baseline; of no seed for the baseline itself.
  Estimate difference(const GroupResult& group, const std::string& measure) const;
};

StudyResults results_of(const StudyFile& study, const std::string& size, const std::vector<StudyGroup>& groups,
                        const std::vector<StudyOutcome>& outcomes);

// The number that the paper gives, "18.18", "0.44*"; none for "failed", "n.r.", "<1", "inf" and the like.
std::optional<double> paper_value(const std::string& text);

// The verdict (tools/report/verdict.h) on the claim that a group's Sink_1 differs from the baseline's as the paper's
// does: "supported: more", "contradicted: less"; "more" or "less" where the paper has no row of the same input for one
// of them; "undecided [-1.2, 3.4]", "too small to tell", "not tested: one run"; "" without runs to compare.
std::string direction(const StudyResults& results, const GroupResult& group);

// The sentences below the table: the orders of Sink_1, Sink_* and the loss next to the paper's, on the same kind of
// input or, where too few of its rows are, with both inputs named; and, where there are
// interventions, which scores order the runs as the loss without the first token's share does (Kendall's tau of means).
std::vector<std::string> verdicts(const StudyResults& results);

}  // namespace sink
