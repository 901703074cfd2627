// Matrix product in plain loops.
#pragma once

#include <cstdint>

#include "engine/threads.h"

namespace sink::ref {

// c_MN (+)= a_MK b_KN; element (i, k) of a lies at a[i * a_row + k * a_column], likewise b. Sums are taken in `Sum`.
template <class Sum, class In, class Out>
void matmul(const In* a, std::int64_t a_row, std::int64_t a_column, const In* b, std::int64_t b_row,
            std::int64_t b_column, Out* c, std::int64_t M, std::int64_t N, std::int64_t K, bool accumulate) {
  auto row = [&](std::int64_t i) {
    for (std::int64_t j = 0; j < N; ++j) {
      Sum sum = accumulate ? static_cast<Sum>(c[i * N + j]) : Sum(0);
      for (std::int64_t k = 0; k < K; ++k)
        sum += static_cast<Sum>(a[i * a_row + k * a_column]) * static_cast<Sum>(b[k * b_row + j * b_column]);
      c[i * N + j] = Out(sum);
    }
  };
  if (M * N * K > 32768) return parallel_for(M, row);
  for (std::int64_t i = 0; i < M; ++i) row(i);
}

}  // namespace sink::ref
