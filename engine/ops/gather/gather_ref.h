// Places [begin, end) of the gathered tensor, and the sums of its gradient.
#pragma once

#include <cstdint>

namespace sink::ref {

template <class R>
void gather(const R* p, const std::int32_t* index_N, R* y_N, std::int64_t begin, std::int64_t end) {
  for (std::int64_t n = begin; n < end; ++n) y_N[n] = index_N[n] < 0 ? R{0} : p[index_N[n]];
}

// Forward was: y_n = p_{index(n)}. sums: as many zeros as p has numbers.
template <class R>
void gather_backward(const R* dy_N, const std::int32_t* index_N, double* sums, std::int64_t N) {
  for (std::int64_t n = 0; n < N; ++n)
    if (index_N[n] >= 0) sums[index_N[n]] += dy_N[n];
}

}  // namespace sink::ref
