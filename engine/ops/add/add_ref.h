// Sums in plain loops; at this simplicity they are the fast path as well, cut over threads by the caller.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink::ref {

template <class A, class B>
void add(const A* a, const B* b, A* y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) store(y[i], a[i] + b[i]);  // bf16 adds as float
}

// One element of dp: a fixed order over the batch keeps results reproducible.
template <class R>
void add_rows_backward(const R* dy_BTC, R* dp_TC, std::int64_t B, std::int64_t TC, std::int64_t begin, std::int64_t end,
                       bool accumulate) {
  if (!accumulate)
    for (std::int64_t i = begin; i < end; ++i) dp_TC[i] = 0;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t i = begin; i < end; ++i) dp_TC[i] += dy_BTC[b * TC + i];
}

}  // namespace sink::ref
