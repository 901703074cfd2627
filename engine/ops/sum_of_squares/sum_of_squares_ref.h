// Sum of squares of one block of numbers.
#pragma once

#include <cstdint>

namespace sink::ref {

template <class R>
double sum_of_squares(const R* x, std::int64_t begin, std::int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = begin; i < end; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace sink::ref
