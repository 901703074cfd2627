// An answer to exercise 7 of the tour.
#pragma once

#include <cmath>
#include <vector>

namespace sink::tour {

using Pattern = std::vector<std::vector<double>>;

inline double alpha_of(const Pattern& pattern, int k, bool proxy) {
  double sum = 0;
  std::size_t key = static_cast<std::size_t>(k - 1);
  for (std::size_t i = key; i < pattern.size(); ++i) {
    double row_sum = 0;
    for (double a : pattern[i]) row_sum += std::abs(a);
    sum += proxy ? std::abs(pattern[i][key]) / row_sum : pattern[i][key];
  }
  return sum / static_cast<double>(pattern.size() - key);
}

inline double sink_of(const std::vector<Pattern>& heads, int k, bool proxy) {
  int above = 0;
  for (const Pattern& pattern : heads) above += alpha_of(pattern, k, proxy) > 0.3;
  return 100.0 * above / static_cast<double>(heads.size());
}

}  // namespace sink::tour
