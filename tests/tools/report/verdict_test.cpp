// The rule by which claims get verdicts. Intervals are SciPy's, of stats.t.interval(0.95, n - 1, mean, stats.sem(v)):
//   from scipy import stats; import numpy as np
//   for v in ([10, 20, 30], [0.9, 1.0, 1.1], [3.1, 2.9, 3.6], [-5.1, -4.2, -6.3, -5.0], [1.2, 0.4, -0.9],
//             [2.5, 1.7, 4.0, 0.3, 2.2], [0.030, 0.045, 0.027]):
//       print(stats.t.interval(0.95, len(v) - 1, np.mean(v), stats.sem(v)))
#include "tools/report/verdict.h"

#include <doctest/doctest.h>

using namespace sink;

namespace {

Estimate of(const std::vector<double>& values) { return estimate_of(values); }

Evidence seeds(std::size_t n) { return {n, 6000, 6000}; }

void check_interval(const std::vector<double>& values, double low, double high) {
  CHECK(of(values).low() == doctest::Approx(low).epsilon(1e-9));
  CHECK(of(values).high() == doctest::Approx(high).epsilon(1e-9));
}

}  // namespace

TEST_CASE("verdict: intervals are SciPy's") {
  check_interval({10, 20, 30}, -4.841377118, 44.841377118);
  check_interval({0.9, 1.0, 1.1}, 0.751586229, 1.248413771);
  check_interval({3.1, 2.9, 3.6}, 2.30433141, 4.09566859);
  check_interval({-5.1, -4.2, -6.3, -5.0}, -6.528039673, -3.771960327);
  check_interval({1.2, 0.4, -0.9}, -2.399540152, 2.866206819);
  check_interval({2.5, 1.7, 4.0, 0.3, 2.2}, 0.477375278, 3.802624722);
  check_interval({0.030, 0.045, 0.027}, 0.010043843, 0.057956157);
}

TEST_CASE("verdict: one run, two runs and fewer steps than planned test nothing, whatever the values are") {
  CHECK(why_not_tested({1, 1500, 6000}) == "one run, 1,500 of 6,000 steps");
  CHECK(why_not_tested({1, 6000, 6000}) == "one run");
  CHECK(why_not_tested({2, 6000, 6000}) == "2 runs");
  CHECK(why_not_tested({5, 1234567, 1234568}) == "5 runs, 1,234,567 of 1,234,568 steps");
  CHECK(why_not_tested({0, 0, 6000}) == "no run");
  CHECK(why_not_tested({3, 6000, 6000}).empty());
  CHECK(why_not_tested({3, 6000, 6000, true}) == "nearly even attention");
  CHECK(why_not_tested({2, 6000, 6000, true}) == "2 runs");
  CHECK(why_not_tested({3, 8000, 6000}).empty());  // trained longer than planned
  CHECK(why_not_tested({3, 500, 0}).empty());      // the plan is unknown
  for (const Evidence& evidence : {Evidence{1, 6000, 6000}, Evidence{2, 6000, 6000}, Evidence{3, 5999, 6000},
                                   Evidence{3, 6000, 6000, true}}) {
    CHECK(level_verdict(evidence, of({50, 50.1, 50.2})) == Verdict::not_tested);
    CHECK(comparison_verdict(evidence, of({-50, -50.1, -50.2}), kMinSinkEffect) == Verdict::not_tested);
  }
}

TEST_CASE("verdict: an interval above, below and over the bound, and within the smallest effect of interest") {
  CHECK(level_verdict(seeds(3), of({0.9, 1.0, 1.1})) == Verdict::supported);
  CHECK(level_verdict(seeds(4), of({-5.1, -4.2, -6.3, -5.0})) == Verdict::contradicted);
  CHECK(level_verdict(seeds(3), of({1.2, 0.4, -0.9})) == Verdict::undecided);
  CHECK(level_verdict(seeds(3), of({-2, -2, -2})) == Verdict::contradicted);  // 0 % of heads of every seed

  CHECK(comparison_verdict(seeds(3), of({0.9, 1.0, 1.1}), 2) == Verdict::too_small);  // above 0, and all below 2
  CHECK(comparison_verdict(seeds(3), of({0.9, 1.0, 1.1}), 1.2) == Verdict::supported);
  CHECK(comparison_verdict(seeds(3), of({3.1, 2.9, 3.6}), 2) == Verdict::supported);
  CHECK(comparison_verdict(seeds(4), of({-5.1, -4.2, -6.3, -5.0}), 2) == Verdict::contradicted);
  CHECK(comparison_verdict(seeds(3), of({1.2, 0.4, -0.9}), 2) == Verdict::undecided);
  CHECK(comparison_verdict(seeds(3), of({1.2, 0.4, -0.9}), 3) == Verdict::too_small);
  CHECK(comparison_verdict(seeds(5), of({2.5, 1.7, 4.0, 0.3, 2.2}), 2) == Verdict::supported);
  CHECK(comparison_verdict(seeds(3), of({0.030, 0.045, 0.027}), kMinAlphaEffect) == Verdict::supported);
  // Equal to the digit: too coarse a measure for an interval.
  CHECK(comparison_verdict(seeds(3), of({6.25, 6.25, 6.25}), 2) == Verdict::undecided);
  CHECK(comparison_verdict(seeds(3), of({0.1, 0.1, 0.1}), 0.02) == Verdict::undecided);  // their mean is rounded
  CHECK(comparison_verdict(seeds(3), of({0, 0, 0}), 2) == Verdict::too_small);
}

TEST_CASE("verdict: its words") {
  const auto words = [](Verdict verdict, const Evidence& evidence = seeds(3)) {
    return verdict_text(verdict, evidence, of({10, 20, 30}), 1);
  };
  CHECK(words(Verdict::supported) == "supported");
  CHECK(words(Verdict::contradicted) == "contradicted");
  CHECK(words(Verdict::undecided) == "undecided [-4.8, 44.8]");
  CHECK(words(Verdict::too_small) == "too small to tell");
  CHECK(words(Verdict::not_tested, {1, 1500, 6000}) == "not tested: one run, 1,500 of 6,000 steps");
}
