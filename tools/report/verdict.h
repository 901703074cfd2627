// The rule for verdicts on the paper's claims in the report. The tables of `sweep` have the same rule
// (train/studies/science/study.py).
//
// Tested: by at least kMinSeeds seeds whose runs have made all steps of their recipe, and whose attention is not nearly
// even, since then no token can be a sink.
//
// Effect: a value x per seed that is positive if the claim holds. For a level (a sink of more than 2 % of heads) the
// value minus the bound; for a comparison the difference per seed, because runs with the same seed share initial
// weights and batches.
//
// Interval: mean +- t s / sqrt(n), where s^2 = sum (x - mean)^2 / (n - 1) and t has 97.5 % of Student's distribution
// with n - 1 degrees of freedom below it: the paired t interval of 95 % (NIST/SEMATECH e-Handbook of Statistical
// Methods, 1.3.5.2 and 7.3.1.3). It is not corrected for the number of claims.
//
// Verdict:
//   too small to tell   the interval is within +- the smallest effect of interest (of a comparison; a level has none)
//   supported           else, if it is above 0
//   contradicted        else, if it is below 0
//   undecided           else, with the interval; also a comparison with equal differences: the measure is too coarse to
//                       show the variation between seeds
#pragma once

#include <cstdint>
#include <string>

#include "tools/report/statistics.h"

namespace sink {

inline constexpr std::size_t kMinSeeds = 3;

// Smallest effects of interest. 2 % of heads at 0.3: uniform attention has 0 %, the paper's clearest case
// without a sink 0.44 %. 0.015 of alpha: 0.3 of what softmax has above even attention in recipes/text.toml (0.124 -
// 0.074).
inline constexpr double kMinSinkEffect = 2, kMinAlphaEffect = 0.015;

// Of the mean entropy of even rows: 3.0 of 3.206 nats for 64 tokens.
inline constexpr double kMaxEntropy = 0.936;

// The runs of a verdict.
struct Evidence {
  std::size_t seeds = 0;
  std::int64_t steps = 0;    // of the least complete run
  std::int64_t planned = 0;  // of that run's recipe; 0: unknown, not required
  bool nearly_even = false;  // the mean entropy of a group's runs is above kMaxEntropy
};

// "one run, 1,500 of 6,000 steps", "2 runs", "nearly even attention"; "" for sufficient evidence.
std::string why_not_tested(const Evidence& evidence);

enum class Verdict { not_tested, too_small, undecided, contradicted, supported };

Verdict level_verdict(const Evidence& evidence, const Estimate& level_minus_bound);
Verdict comparison_verdict(const Evidence& evidence, const Estimate& difference, double smallest);

// "[-4.8, 44.8]".
std::string interval_text(const Estimate& estimate, int decimals);

// "supported", "contradicted", "undecided [-4.8, 44.8]", "too small to tell",
// "not tested: one run". `shown` is the estimate whose interval is printed.
std::string verdict_text(Verdict verdict, const Evidence& evidence, const Estimate& shown, int decimals);

}  // namespace sink
