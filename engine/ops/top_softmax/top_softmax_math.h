// One row of E elements: which are chosen, their softmax, its gradient. R: float or double, the type of the sums.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/vector_math.h"

namespace sink {

// Whether element e is one of the k largest. Of equal elements the first ones are. Takes O(E) time, which is fine since
// E is small: the number of experts of a layer.
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
SINK_HD void keep_largest_row(const X* s_E, std::int64_t E, std::int64_t k, X* p_E) {
  for (std::int64_t e = 0; e < E; ++e) store(p_E[e], among_largest<R>(s_E, E, k, e) ? R(s_E[e]) : R(0));
}

template <class R, class X>
SINK_HD void top_softmax_row_backward(const X* dp_E, const X* p_E, const X* s_E, std::int64_t E, X* dx_E) {
  R mean = 0;
  for (std::int64_t e = 0; e < E; ++e) mean += R(p_E[e]) * R(dp_E[e]);
  for (std::int64_t e = 0; e < E; ++e)
    store(dx_E[e], R(p_E[e]) != 0 ? R(p_E[e]) * (R(dp_E[e]) - mean) : R(s_E[e]) * (R(0) - mean));
}

}  // namespace sink
