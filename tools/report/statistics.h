// Statistics of a few seeds: means with 95 % intervals and paired differences.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sink {

// The 97.5 % quantile of Student's t distribution with `degrees` >= 1 degrees of freedom: 12.71, 4.30, 3.18 ...
double student_t_975(std::int64_t degrees);

// The mean of n independent values and half the width of its 95 % interval, t s / sqrt(n), where s^2 is over n - 1.
// If all values are equal up to the nine digits of the files, half is exactly 0. NaN: the mean of no value, the
// interval of fewer than two.
struct Estimate {
  std::size_t n = 0;
  double mean, half;
  double low() const { return mean - half; }
  double high() const { return mean + half; }
  bool has_interval() const { return n >= 2; }
};
Estimate estimate_of(const std::vector<double>& values);

using BySeed = std::map<std::uint64_t, double>;
Estimate estimate_of(const BySeed& values);
// Of a - b over common seeds: runs with the same seed see the same batches. The nine digits are those of a and b.
Estimate paired_difference(const BySeed& a, const BySeed& b);

}  // namespace sink
