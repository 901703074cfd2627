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
