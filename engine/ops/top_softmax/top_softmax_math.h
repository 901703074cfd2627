// One row of E numbers: which are chosen, their softmax, its gradient. R: float or double, of sums.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/vector_math.h"

namespace sink {

// Whether number e is one of the k largest; of equal ones those that come first are. E is small: rows have as many
// numbers as a layer has experts.
template <class R, class X>
SINK_HD bool among_largest(const X* x_E, std::int64_t E, std::int64_t k, std::int64_t e) {
  std::int64_t before = 0;
  for (std::int64_t j = 0; j < E; ++j) before += R(x_E[j]) > R(x_E[e]) || (R(x_E[j]) == R(x_E[e]) && j < e);
  return before < k;
}

template <class R, class X>
SINK_HD void top_softmax_row(const X* x_E, std::int64_t E, std::int64_t k, X* p_E) {
  R m = R(x_E[0]), S = 0;
  for (std::int64_t e = 0; e < E; ++e) m = R(x_E[e]) > m ? R(x_E[e]) : m;
  for (std::int64_t e = 0; e < E; ++e)
    if (among_largest<R>(x_E, E, k, e)) S += exp_fast(R(x_E[e]) - m);
  for (std::int64_t e = 0; e < E; ++e)
    store(p_E[e], among_largest<R>(x_E, E, k, e) ? exp_fast(R(x_E[e]) - m) / S : R(0));
}

template <class R, class X>
SINK_HD void top_softmax_row_backward(const X* dp_E, const X* p_E, std::int64_t E, X* dx_E) {
  R mean = 0;
  for (std::int64_t e = 0; e < E; ++e) mean += R(p_E[e]) * R(dp_E[e]);
  for (std::int64_t e = 0; e < E; ++e) store(dx_E[e], R(p_E[e]) * (R(dp_E[e]) - mean));
}

}  // namespace sink
