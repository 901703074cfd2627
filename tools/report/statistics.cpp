#include "tools/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

#include "engine/check.h"

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

}  // namespace sink
