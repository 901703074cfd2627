// Judges the registered claims by the runs of their studies. The tests and the verdicts are defined at the head of
// train/studies/preregistration.toml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/report/statistics.h"
#include "tools/sweep/preregistration.h"

namespace sink {

// The runs of each study, by its name; a study without runs may be missing.
using RunsOfStudies = std::map<std::string, std::vector<report::Run>>;

// The rows of <study>-runs.csv in `folder` for the studies that the file names. Throws Error (Exit::bad_input) for a
// damaged table, and for complete runs of one name that have one seed or differ in a setting, the data or what was
// measured.
RunsOfStudies read_runs_of(const Preregistration& registered, const std::string& folder);

// The runs that claims name and the table of their study does not have, as "atlas-runs.csv has no run bias_q": such
// claims stay "not run". None for a study without a table.
std::vector<std::string> unknown_runs(const Preregistration& registered, const RunsOfStudies& runs);

// "bias_k" of "bias_k-11".
std::string group_of(const report::Run& run);
// Whether the run is whole, so that it may judge a claim.
bool is_complete(const report::Run& run);

enum class ClaimVerdict { replicated, contradicted, underpowered, not_testable, not_run };
const char* name_of(ClaimVerdict verdict);

struct JudgedClaim {
  RegisteredClaim claim;
  ClaimVerdict verdict = ClaimVerdict::not_run;
  Estimate difference;     // run minus against, paired by seed; n = 0 if not judged
  double smallest = 0;     // the smallest effect of interest; NaN: the baseline has no excess
  double p = 1;            // 1 if not judged
  double p_of_family = 1;  // corrected
};
std::vector<JudgedClaim> judge(const Preregistration& registered, const RunsOfStudies& runs);

// A group of the study that chooses the recipe.
struct RecipeCandidate {
  std::string run;
  std::size_t seeds = 0;
  std::int64_t steps = 0;
  double ratio = 0;      // mean of alpha_1 / u_1
  double variation = 0;  // standard deviation / mean of alpha_1
  double loss = 0, loss_excess = 0;
  bool passes = false;
};
std::vector<RecipeCandidate> recipe_candidates(const Preregistration& registered, const RunsOfStudies& runs);

// Tables for a terminal, for Markdown and as CSV (claims only). The same runs give the same bytes.
std::string verdicts_text(const Preregistration& registered, const RunsOfStudies& runs);
std::string verdicts_markdown(const Preregistration& registered, const RunsOfStudies& runs);
std::string verdicts_csv(const Preregistration& registered, const RunsOfStudies& runs);

}  // namespace sink
