// Values for the ranks of a test to sum. Their sum depends on the order: they are of sizes 3e-4 to 1e8 and of both
// signs.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace sink {

inline float number_of_rank(int rank, std::int64_t i) {
  const double sizes[] = {1e8, 1, 3e-4, 70};
  return static_cast<float>((rank % 2 ? -1 : 1) * sizes[(rank + i) % 4] * (1 + 1e-3 * static_cast<double>(i % 997)));
}

inline Tensor numbers_of_rank(int rank, std::int64_t count) {
  Tensor x = Tensor::empty({count});
  for (std::int64_t i = 0; i < count; ++i) x.data<float>()[i] = number_of_rank(rank, i);
  return x;
}

// first + x_0 + x_1 + ..., from left to right.
inline float sum_of_ranks(int size, std::int64_t i, float first = 0) {
  for (int rank = 0; rank < size; ++rank) first += number_of_rank(rank, i);
  return first;
}

}  // namespace sink
