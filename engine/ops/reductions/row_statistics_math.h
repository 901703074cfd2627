// The statistics of one row (row_statistics.h) in double, for the backends of the CPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sink {

struct RowStatistics {
  double length, kurtosis, largest;
};

template <class X>
RowStatistics row_statistics_of(const X* x_D, std::int64_t D) {
  double squares = 0, mean = 0, second = 0, fourth = 0, largest = 0;
  for (std::int64_t d = 0; d < D; ++d) {
    const double x = static_cast<double>(x_D[d]);
    squares += x * x;
    mean += x / static_cast<double>(D);
    largest = std::max(largest, std::abs(x));
  }
  for (std::int64_t d = 0; d < D; ++d) {
    const double deviation = static_cast<double>(x_D[d]) - mean, square = deviation * deviation;
    second += square / static_cast<double>(D);
    fourth += square * square / static_cast<double>(D);
  }
  return {std::sqrt(squares), second > 0 ? fourth / (second * second) : 0, largest};
}

}  // namespace sink
