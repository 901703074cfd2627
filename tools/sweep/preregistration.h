// The registered claims: train/studies/preregistration.toml, committed before the runs that judge them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sink {

enum class Expected { less, greater, equal };  // of the group compared with the other

// One comparison of two groups of runs. A [[claim]] with several runs gives one for each.
struct RegisteredClaim {
  std::string says;    // a sentence
  std::string family;  // claims that share Holm's correction
  std::string paper;   // section and table, or "ours"
  std::string study;   // its runs are in <study>-runs.csv
  std::string run;     // the name of a group of runs
  std::string against = "baseline";
  std::string measure = "excess_1";  // one of kMeasures in preregistration.cpp
  Expected expected = Expected::equal;
  std::optional<double> smallest;  // the smallest effect of interest; none: share of the baseline's excess
  std::string not_testable;        // why; empty: it is
};

// How the recipe is chosen, [choice] of the file.
struct RecipeChoice {
  std::string study;
  std::vector<std::uint64_t> seeds;
  double least_ratio = 0;       // of the mean of alpha_1 / u_1
  double most_variation = 0;    // standard deviation / mean of alpha_1 over seeds
  double most_loss_excess = 0;  // above the lowest mean loss, nats
};

struct Preregistration {
  std::string path;
  RecipeChoice choice;
  std::vector<std::uint64_t> seeds;  // that judge the claims
  double level = 0.05;               // of the corrected p values
  double smallest_share = 0.3;       // of the baseline's excess_1
  std::vector<RegisteredClaim> claims;
};

// Throws Error (Exit::usage) with every line that is wrong.
Preregistration read_preregistration(const std::string& path);
Preregistration preregistration_from_toml(const std::string& text, const std::string& where);

}  // namespace sink
