// How far single numbers of a vector stand out: its kurtosis, and the median that its largest is compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sink {

// E[(x - mean)^4] / E[(x - mean)^2]^2: 3 for a normal distribution, n for one number of n that stands out alone (Kaul
// et al. 2025); 0 where all numbers are the same.
inline constexpr auto kurtosis_of = [](auto vector) {
  double n = static_cast<double>(vector.size()), mean = 0, second = 0, fourth = 0;
  for (auto x : vector) mean += static_cast<double>(x) / n;
  for (auto x : vector) {
    double square = std::pow(static_cast<double>(x) - mean, 2);
    second += square / n;
    fourth += square * square / n;
  }
  return second > 0 ? fourth / (second * second) : 0;
};

// The median of |x|; of an even number of them the mean of the two in the middle.
inline constexpr auto median_size_of = [](auto vector) {
  std::vector<double> sizes;
  for (auto x : vector) sizes.push_back(std::abs(static_cast<double>(x)));
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return sizes.size() % 2 ? *middle : (*middle + *std::max_element(sizes.begin(), middle)) / 2;
};

}  // namespace sink
