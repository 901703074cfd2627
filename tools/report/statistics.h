// What a few seeds say: means with their 95 % intervals, paired differences, and whether two lists are in the same
// order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sink {

// The t of Student's distribution with `degrees` >= 1 degrees of freedom below which 97.5 % lie: 12.71, 4.30, 3.18 ...
double student_t_975(std::int64_t degrees);

// The mean of n independent values and half the width of its 95 % interval, t s / sqrt(n) with s^2 over n - 1. NaN
// where it is not known: the mean of none, the interval of fewer than two.
struct Estimate {
  std::size_t n = 0;
  double mean, half;
  double low() const { return mean - half; }
  double high() const { return mean + half; }
  bool has_interval() const { return n >= 2; }
};
Estimate estimate_of(const std::vector<double>& values);

// A measure of runs by their seed.
using BySeed = std::map<std::uint64_t, double>;
Estimate estimate_of(const BySeed& values);
// Of a - b, over the seeds that both have: runs of one seed see the same batches, so what they share cancels. Where
// the differences are equal but for what nine digits (of the files) leave, half is 0, exactly.
Estimate paired_difference(const BySeed& a, const BySeed& b);

// -1, 0 or 1 where the interval lies below 0, holds it or lies above; 0 too where no interval is known, and where it
// has no width: differences that are equal to the digit are those of a measure too coarse to show how far seeds
// scatter.
int sign_of(const Estimate& difference);

// Kendall's tau-b: (pairs in the same order - pairs in opposite order) / sqrt((pairs not tied in x)(pairs not tied in
// y)). NaN where one of them is constant, or for fewer than two.
double kendall_tau(const std::vector<double>& x, const std::vector<double>& y);

// Whether ours are in the order of the paper's: every pair of arms that the paper tells apart, once.
struct OrderAgreement {
  int agree = 0, disagree = 0;
  int undecided = 0;   // the 95 % interval of our paired difference holds 0 or has no width
  int not_tested = 0;  // fewer seeds have both than are asked for
  std::size_t fewest_seeds = 0;
  double tau = 0;  // kendall_tau of the paper's values and our means
  std::size_t arms = 0;
};
struct OrderedArm {
  double paper;
  BySeed ours;
};
OrderAgreement order_agreement(const std::vector<OrderedArm>& arms, std::size_t fewest_seeds);

// "Sink_1: of 6 pairs 3 are in the paper's order, ...".
std::string sentence(const std::string& measure, const OrderAgreement& agreement);
inline constexpr const char* kNoOrder = ": the paper tells no two of the runs that are done apart.";  // its end

}  // namespace sink
