// Statistics of vectors, in double: kurtosis, largest and median size, log-sum-exp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xtensor.hpp>

namespace sink {

// A span as a lazy xtensor expression in double. Lazy sums, xt::sum(...)(), add terms in order like a loop, to the same
// bits; sums with xt::evaluation_strategy::immediate need not.
inline constexpr auto as_doubles = [](auto span) {
  return xt::cast<double>(
      xt::adapt(span.data(), span.size(), xt::no_ownership(), std::array<std::size_t, 1>{span.size()}));
};

// E[(x - mean)^4] / E[(x - mean)^2]^2: 3 for a normal distribution, n for a single outlier among n values (Kaul et al.
// 2025), 0 for equal values. A loop instead of an xtensor expression, around which the compiler would contract products
// and sums differently and change the last bits.
inline constexpr auto kurtosis_of = [](auto span) {
  double n = static_cast<double>(span.size()), mean = 0, second = 0, fourth = 0;
  for (auto x : span) mean += static_cast<double>(x) / n;
  for (auto x : span) {
    double square = std::pow(static_cast<double>(x) - mean, 2);
    second += square / n;
    fourth += square * square / n;
  }
  return second == 0 ? 0 : fourth / (second * second);  // NaN where a value is not finite
};

// The largest |x|; NaN if one is NaN. Not xt::amax, which drops the values before a NaN.
inline constexpr auto largest_size_of = [](auto span) {
  double largest = 0;
  for (auto x : span) {
    const double size = std::abs(static_cast<double>(x));
    if (size > largest || std::isnan(size)) largest = size;
  }
  return largest;
};

// The median of |x|; for an even count the mean of the middle two.
inline constexpr auto median_size_of = [](auto span) { return xt::median(xt::abs(as_doubles(span))); };

inline constexpr auto log_sum_exp = [](auto span) {
  const double largest = static_cast<double>(*std::max_element(span.begin(), span.end()));
  double sum = 0;
  for (auto x : span) sum += std::exp(static_cast<double>(x) - largest);
  return largest + std::log(sum);
};

}  // namespace sink
