// What a study found: for every arm means with intervals over its seeds, differences from the baseline seed by seed,
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

// A run as it stands on the disk, or in an earlier table.
struct StudyOutcome {
  std::size_t arm = 0;
  std::uint64_t seed = 0;
  std::optional<report::Run> run;  // none: not begun
  std::string problem;             // why it is not complete; empty: it is
  std::string file;                // the row of another's table that stands for it (run_states.h); empty: its folder
  std::optional<report::Evaluation> before =
      {};  // of one that starts from another: what that measured, on the new data
};

struct ArmResult {
  StudyArm arm;
  std::map<std::string, BySeed> values;  // of measures(), where a run has them
  std::vector<std::string> remarks;      // "seed 1: the loss was not finite ...", steps that were skipped
  Estimate estimate(const std::string& measure) const;
};

struct StudyResults {
  StudyFile study;
  std::string size;
  std::vector<std::uint64_t> seeds;
  std::vector<ArmResult> arms;
  std::optional<std::size_t> baseline;  // of arms; none where --only left it out
  std::size_t complete = 0, runs = 0;
  double core_hours = 0;                       // of complete runs: their clocks times their threads
  std::vector<std::string> commits, machines;  // of complete runs, where they are known
  std::map<std::string, std::size_t> earlier;  // by the file that they stand in, runs that stand in no folder

  // Arm minus baseline; of no seed for the baseline itself.
  Estimate difference(const ArmResult& arm, const std::string& measure) const;
};

StudyResults results_of(const StudyFile& study, const std::string& size, const std::vector<StudyArm>& arms,
                        const std::vector<StudyOutcome>& outcomes);

// The number that the paper gives, "18.18", "0.44*"; none for "failed", "n.r.", "<1", "inf" and the like.
std::optional<double> paper_value(const std::string& text);

// The verdict (tools/report/verdict.h) on the claim that an arm's Sink_1 differs from the baseline's as the paper's
// does: "supported: more", "contradicted: less"; "more" or "less" where the paper has no row of the same input for one
// of them; "undecided [-1.2, 3.4]", "too small to tell", "not tested: one run"; "" without runs to compare.
std::string direction(const StudyResults& results, const ArmResult& arm);

// The sentences below the table: the orders of Sink_1, Sink_* and the loss next to the paper's, on the same kind of
// input or, where too few of its rows are, with both inputs named; and, where there are
// interventions, which scores order the runs as the loss without the first token's share does (Kendall's tau of means).
std::vector<std::string> verdicts(const StudyResults& results);

}  // namespace sink
