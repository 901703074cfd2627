// Exercise 8 of the tour: two halves of a row, computed apart.
#pragma once

#include <vector>

namespace sink::tour {

// Partial results for some keys of a softmax row: their largest score m, S, the sum of e^(s_j - m), and o, the sum of
// e^(s_j - m) v_j (the values are scalars here).
struct Half {
  double m, S, o;
};

// The same of both halves' keys together, without their scores. Either half may have the larger m. This is how a GPU
// lets several blocks share one row.
inline Half merged(const Half& one, [[maybe_unused]] const Half& other) {
  return one;  // yours
}

}  // namespace sink::tour
