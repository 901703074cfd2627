// Statistics of a few seeds: means with 95 % intervals, paired differences, tests, and agreement in order.
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

// -1, 0 or 1 if the interval is below 0, contains it or is above. 0 also without an interval and for one of width 0:
// such a measure is too coarse to show the variation between seeds.
int sign_of(const Estimate& difference);

// Kendall's tau-b: (pairs in the same order - pairs in opposite order) / sqrt((pairs not tied in x)(pairs not tied in
// y)). NaN where one of them is constant, or for fewer than two.
double kendall_tau(const std::vector<double>& x, const std::vector<double>& y);

// Over all pairs of groups with different values in the paper: whether our values have the same order.
struct OrderAgreement {
  int agree = 0, disagree = 0;
  int undecided = 0;   // the 95 % interval of our paired difference contains 0 or has width 0
  int not_tested = 0;  // fewer than min_seeds common seeds
  std::size_t min_seeds = 0;
  double tau = 0;  // kendall_tau of the paper's values and our means
  std::size_t groups = 0;
};
struct OrderedGroup {
  double paper;
  BySeed ours;
};
OrderAgreement order_agreement(const std::vector<OrderedGroup>& groups, std::size_t min_seeds);

// "Sink_1: of 6 pairs that the paper tells apart, 3 in its order, ...": as printed in train/studies/results.
std::string sentence(const std::string& measure, const OrderAgreement& agreement);
inline constexpr const char* kNoOrder = ": the paper tells no two of the runs that are done apart.";  // its end

}  // namespace sink
