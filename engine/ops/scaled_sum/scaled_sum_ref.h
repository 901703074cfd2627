// The sum of n numbers, in order.
#pragma once

#include <cstdint>

namespace sink::ref {

template <class R>
double sum(const R* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

}  // namespace sink::ref
