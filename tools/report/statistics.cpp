#include "tools/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

#include "engine/check.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kRoundingError = 3e-8;  // of a difference of two values with nine digits, relative to the larger

// half is 0 if the values are equal up to the nine digits of the files; `largest` is the largest magnitude of those
// from which they were computed.
Estimate estimate_of(const std::vector<double>& values, double largest) {
  const std::size_t n = values.size();
  if (n == 0) return {0, kUnknown, kUnknown};
  const auto x = xt::adapt(values);
  const double count = static_cast<double>(n), mean = xt::mean(x)();
  if (n == 1) return {1, mean, kUnknown};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*most - *least <= kRoundingError * largest) return {n, mean, 0};
  const double squares = xt::sum(xt::square(x - mean))();
  return {n, mean, student_t_975(static_cast<std::int64_t>(n) - 1) * std::sqrt(squares / (count - 1) / count)};
}

// P(|T| < t) for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4, with theta = atan(t / sqrt(nu)).
double within(double t, std::int64_t degrees) {
  const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees))), cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (std::int64_t k = odd ? 1 : 0; k <= degrees - 2; k += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(k + 1) / static_cast<double>(k + 2);
  }
  return odd ? 2 / std::numbers::pi * (theta + std::sin(theta) * sum) : std::sin(theta) * sum;
}

int sign(double value) { return (value > 0) - (value < 0); }

}  // namespace

double student_t_975(std::int64_t degrees) {
  SINK_CHECK(degrees >= 1, "student_t", "expected at least one degree of freedom, got " + std::to_string(degrees));
  double low = 1.9, high = 13;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (within(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

Estimate estimate_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return estimate_of(values, largest);
}

Estimate estimate_of(const BySeed& values) {
  std::vector<double> list;
  for (const auto& [seed, value] : values) list.push_back(value);
  return estimate_of(list);
}

Estimate paired_difference(const BySeed& a, const BySeed& b) {
  std::vector<double> differences;
  double largest = 0;
  for (const auto& [seed, value] : a)
    if (auto other = b.find(seed); other != b.end()) {
      differences.push_back(value - other->second);
      largest = std::max({largest, std::abs(value), std::abs(other->second)});
    }
  return estimate_of(differences, largest);
}

int sign_of(const Estimate& difference) {
  if (!difference.has_interval() || difference.half == 0) return 0;
  return difference.low() > 0 ? 1 : difference.high() < 0 ? -1 : 0;
}

double kendall_tau(const std::vector<double>& x, const std::vector<double>& y) {
  std::int64_t surplus = 0, untied_x = 0, untied_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const int a = sign(x[i] - x[j]), b = sign(y[i] - y[j]);
      surplus += a * b;
      untied_x += a != 0;
      untied_y += b != 0;
    }
  return static_cast<double>(surplus) / std::sqrt(static_cast<double>(untied_x) * static_cast<double>(untied_y));
}

OrderAgreement order_agreement(const std::vector<OrderedGroup>& groups, std::size_t min_seeds) {
  OrderAgreement agreement;
  agreement.min_seeds = min_seeds;
  std::vector<double> paper, ours;
  for (const OrderedGroup& group : groups) {
    if (group.ours.empty()) continue;
    paper.push_back(group.paper);
    ours.push_back(estimate_of(group.ours).mean);
    for (const OrderedGroup& other : groups) {
      if (&other == &group) break;
      if (other.ours.empty() || other.paper == group.paper) continue;
      const Estimate difference = paired_difference(group.ours, other.ours);
      const int ours_sign = sign_of(difference);
      ++(difference.n < min_seeds                       ? agreement.not_tested
         : ours_sign == 0                               ? agreement.undecided
         : ours_sign == sign(group.paper - other.paper) ? agreement.agree
                                                        : agreement.disagree);
    }
  }
  agreement.groups = paper.size();
  agreement.tau = kendall_tau(paper, ours);
  return agreement;
}

std::string sentence(const std::string& measure, const OrderAgreement& a) {
  const int pairs = a.agree + a.disagree + a.undecided + a.not_tested;
  if (pairs == 0) return measure + kNoOrder;
  std::string text = measure + ": of " + std::to_string(pairs) + (pairs == 1 ? " pair" : " pairs") +
                     " that the paper tells apart, " + std::to_string(a.agree) + " in its order, " +
                     std::to_string(a.disagree) + " in the opposite order, " + std::to_string(a.undecided) +
                     " undecided (the 95 % interval of our difference holds 0 or has no width)";
  if (a.not_tested > 0)
    text += ", " + std::to_string(a.not_tested) + " not tested (fewer than " + std::to_string(a.min_seeds) + " seeds)";
  if (!std::isfinite(a.tau)) return text + ".";
  return text + str_format("; Kendall's tau of the means of %zu runs %.2f.", a.groups, a.tau);
}

}  // namespace sink
