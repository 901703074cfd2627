// Means, intervals and orders compared with SciPy's results (statistics_golden.py prints them) and with results by
// hand.
#include "tools/report/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/files.h"

using namespace sink;

namespace {

const BySeed kA{{1, 14.6}, {2, 12.25}, {3, 17.5}, {5, 11.0}}, kB{{1, 0.4}, {2, 1.5}, {3, 0.9}, {4, 7.0}};

}  // namespace

TEST_CASE("statistics: Student's t equals SciPy's") {
  const std::pair<int, double> golden[] = {{1, 12.706204736}, {2, 4.30265273},    {3, 3.182446305},   {4, 2.776445105},
                                           {5, 2.570581836},  {9, 2.262157163},   {10, 2.228138852},  {29, 2.045229642},
                                           {30, 2.042272456}, {100, 1.983971519}, {1001, 1.962336705}};
  for (auto [degrees, t] : golden) CHECK(student_t_975(degrees) == doctest::Approx(t).epsilon(1e-9));
}

TEST_CASE("statistics: a mean has an interval from two seeds on, a paired difference takes the seeds both have") {
  Estimate a = estimate_of(kA);
  CHECK(a.n == 4);
  CHECK(a.mean == doctest::Approx(13.8375).epsilon(1e-9));
  CHECK(a.half == doctest::Approx(4.553500828).epsilon(1e-9));
  Estimate difference = paired_difference(kA, kB);  // seeds 1, 2, 3
  CHECK(difference.n == 3);
  CHECK(difference.mean == doctest::Approx(13.85).epsilon(1e-9));
  CHECK(difference.half == doctest::Approx(7.305012329).epsilon(1e-9));

  Estimate one = estimate_of(BySeed{{1, 3.0}});
  CHECK(one.mean == 3);
  CHECK_FALSE(one.has_interval());
  CHECK(std::isnan(one.half));
  CHECK(std::isnan(estimate_of(BySeed{}).mean));
  CHECK(paired_difference(kA, {{9, 1.0}}).n == 0);
  // 6.25 twice, from values with the digits of files: 33.3333333 - 27.0833333 is another double than 14.5833333 -
  // 8.33333333.
  difference = paired_difference({{1, 33.3333333}, {2, 14.5833333}}, {{1, 27.0833333}, {2, 8.33333333}});
  CHECK(difference.mean == doctest::Approx(6.25));
  CHECK(difference.half == 0);
  CHECK(paired_difference({{1, 6.251}, {2, 6.25}}, {{1, 0.0}, {2, 0.0}}).half > 0);
  // The same for one value per seed: the mean of 0.1, 0.1 and 0.1 is rounded.
  for (const double value : {0.1, 0.25, -14.5833333}) CHECK(estimate_of(std::vector{value, value, value}).half == 0);
  CHECK(estimate_of(std::vector{33.3333333, 33.3333334}).half == 0);
  CHECK(estimate_of(std::vector{6.251, 6.25}).half > 0);
}

TEST_CASE("statistics: a sign is told only where the interval does not hold 0") {
  CHECK(sign_of({3, 5, 4.9}) == 1);
  CHECK(sign_of({3, 5, 5.1}) == 0);
  CHECK(sign_of({3, -5, 4.9}) == -1);
  CHECK(sign_of({1, 5, NAN}) == 0);  // one seed
  CHECK(sign_of(estimate_of(std::vector<double>())) == 0);
  CHECK(sign_of({3, 0, 0}) == 0);
  CHECK(sign_of({3, 5, 0}) == 0);  // no width
}

TEST_CASE("statistics: Kendall's tau-b equals SciPy's, ties included") {
  CHECK(kendall_tau({18.18, 0.44, 30.24, 0.8, 53.65, 0.44}, {14, 0, 20, 0, 3, 1}) == doctest::Approx(0.5));
  CHECK(kendall_tau({1, 2, 3}, {5, 6, 9}) == doctest::Approx(1));
  CHECK(kendall_tau({1, 2, 3}, {9, 6, 5}) == doctest::Approx(-1));
  CHECK(std::isnan(kendall_tau({1}, {1})));
  CHECK(std::isnan(kendall_tau({1, 1}, {1, 2})));
}

TEST_CASE("statistics: pairs agree, disagree or are undecided") {
  // The paper: a < b < c = d. Ours by seed: a 10 and 11, b 1 and 1.5, c 20 and 40, d has no run.
  const std::vector<OrderedGroup> groups{
      {1, {{1, 10}, {2, 11}}}, {2, {{1, 1}, {2, 1.5}}}, {3, {{1, 20}, {2, 40}}}, {3, {}}};
  // b - a: -9, -9.5, half 12.706 * 0.25 = 3.2: below 0, and the paper's is above. c - a: 10, 29, half 120: undecided.
  // c - b: 19, 38.5, half 124: undecided.
  OrderAgreement agreement = order_agreement(groups, 2);
  CHECK(agreement.agree == 0);
  CHECK(agreement.disagree == 1);
  CHECK(agreement.undecided == 2);
  CHECK(agreement.groups == 3);
  CHECK(agreement.tau == doctest::Approx(1.0 / 3));
  CHECK(sentence("Sink_1", agreement) ==
        "Sink_1: of 3 pairs that the paper tells apart, 0 in its order, 1 in the opposite order, 2 undecided (the 95 % "
        "interval of our difference holds 0 or has no width); Kendall's tau of the means of 3 "
        "runs 0.33.");
  // The same with c clearly above both.
  agreement = order_agreement({groups[0], groups[1], {3, {{1, 20}, {2, 21.5}}}}, 2);
  CHECK(agreement.agree == 2);
  CHECK(agreement.undecided == 0);
  // One seed decides nothing; nothing to compare is said so.
  agreement = order_agreement({{1, {{1, 0.0}}}, {2, {{1, 50.0}}}}, 3);
  CHECK(agreement.undecided == 0);
  CHECK(agreement.not_tested == 1);
  CHECK(contains(sentence("Loss", agreement),
                 "0 undecided (the 95 % interval of our difference holds 0 or has no width), "
                 "1 not tested (fewer than 3 seeds); Kendall"));
  CHECK(sentence("Loss", order_agreement({{1, {{1, 0.0}}}}, 3)) ==
        "Loss: the paper tells no two of the runs that are done apart.");
}
