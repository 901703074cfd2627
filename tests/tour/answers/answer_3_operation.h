// An answer to exercise 3 of the tour.
#pragma once

#include <cmath>
#include <vector>

namespace sink::tour {

inline std::vector<double> layer_norm_of(const std::vector<double>& x_C, double epsilon) {
  double C = static_cast<double>(x_C.size()), mean = 0, variance = 0;
  for (double x : x_C) mean += x / C;
  for (double x : x_C) variance += (x - mean) * (x - mean) / C;
  std::vector<double> y_C;
  for (double x : x_C) y_C.push_back((x - mean) / std::sqrt(variance + epsilon));
  return y_C;
}

}  // namespace sink::tour
