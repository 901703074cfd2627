// What the figure of budget_picture.h shows of each group of a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/sweep/claim_verdicts.h"

namespace sink {

// The values of a group over its seeds.
struct SeedValues {
  std::vector<double> seeds;
  Estimate mean;
};

struct BudgetRow {
  std::string group, label;
  std::size_t seeds = 0;
  // Raw weights of a row of attention, means over rows, heads and seeds.
  double on_first = 0, on_extra = 0, on_others = 0, missing = 0;
  double even_first = 0;  // on_first if the weights were spread evenly
  SeedValues first_and_extra;
  SeedValues sink_1, sink_star;         // percent, proxy weights, threshold 0.3
  std::optional<double> paper_sink_1;   // of the same kind of input
  SeedValues value_ratio;               // |v_1| / |v_t|
  SeedValues massive_ratio;             // |h_1| / |h_t| in the layer where it is largest
  SeedValues loss_difference;           // from softmax, paired by seed; none for softmax itself
  std::optional<ClaimVerdict> verdict;  // on the first claim about the group; none: no claim
};

struct Mechanism {
  std::string title;
  std::vector<BudgetRow> rows;  // in the order of the study
};

// Only groups with a complete run; mechanisms without any are left out.
std::vector<Mechanism> budget_rows(const Preregistration& registered, const RunsOfStudies& runs,
                                   const std::string& study);

}  // namespace sink
