// The rule by which a claim of the paper gets its verdict, for the report and the tables of `sweep` alike.
//
// Tested: by at least kFewestSeeds seeds, all of whose runs have made every step that their recipe plans. What is less
// is not tested, whatever its values are.
//
// Effect: a value x of each seed that is positive where the claim is right. Of a level (a sink of more than 2 % of
// heads) it is the value minus the bound; of a comparison the difference seed by seed, because runs of one seed share
// initial weights and batches.
//
// Interval: mean +- t s / sqrt(n), where s^2 = sum (x - mean)^2 / (n - 1) and t has 97.5 % of Student's distribution
// with n - 1 degrees of freedom below it: the paired t interval of 95 % (NIST/SEMATECH e-Handbook of Statistical
// Methods, 1.3.5.2 and 7.3.1.3). It is not corrected for the number of claims.
//
// Verdict:
//   too small to tell   the interval lies within +- the smallest effect of interest (of a comparison; a level has none)
//   supported           else, where it lies above 0
//   contradicted        else, where it lies below 0
//   undecided           else, with the interval; also a comparison whose differences are all equal, to the digit: that
//                       measure is too coarse to show how far seeds scatter
#pragma once

#include <cstdint>
#include <string>

#include "tools/report/statistics.h"

namespace sink {

inline constexpr std::size_t kFewestSeeds = 3;

// Smallest effects of interest. 2 % of heads at 0.3: attention that is spread evenly has 0 %, the paper's clearest case
// without a sink 0.44 %. 0.015 of alpha: 0.3 of what softmax has above even attention in recipes/text.toml (0.124 -
// 0.074).
inline constexpr double kSmallestSink = 2, kSmallestAlpha = 0.015;

// How far the runs that a verdict rests on have got.
struct Evidence {
  std::size_t seeds = 0;
  std::int64_t steps = 0;    // of the run that got least far
  std::int64_t planned = 0;  // of that run's recipe; 0: not known, and not asked
};

// "one run, 1,500 of 6,000 steps", "2 runs"; "" where it is enough.
std::string why_not_tested(const Evidence& evidence);

enum class Verdict { not_tested, too_small, undecided, contradicted, supported };

Verdict level_verdict(const Evidence& evidence, const Estimate& level_minus_bound);
Verdict comparison_verdict(const Evidence& evidence, const Estimate& difference, double smallest);

// "[-4.8, 44.8]".
std::string interval_text(const Estimate& estimate, int decimals);

// The verdict's own words and no others: "supported", "contradicted", "undecided [-4.8, 44.8]", "too small to tell",
// "not tested: one run". `shown` is the estimate whose interval is told, which may be the level itself.
std::string verdict_text(Verdict verdict, const Evidence& evidence, const Estimate& shown, int decimals);

}  // namespace sink
