// Sequences [begin, end) with a row more or a row less, and the gradient of columns [begin, end) of that row. Copies in
// plain loops are the fast path as well, cut over threads by the caller.
#pragma once

#include <cstdint>

namespace sink::ref {

// T positions in x, 1 + T in y.
template <class R>
void prepend(const R* x_BTC, const R* row_C, R* y_BTC, std::int64_t T, std::int64_t C, std::int64_t begin,
             std::int64_t end) {
  for (std::int64_t b = begin; b < end; ++b) {
    R* y = y_BTC + b * (1 + T) * C;
    for (std::int64_t c = 0; c < C; ++c) y[c] = row_C[c];
    for (std::int64_t i = 0; i < T * C; ++i) y[C + i] = x_BTC[b * T * C + i];
  }
}

// The row's part; a range of columns belongs to one thread.
template <class R>
void prepend_backward(const R* dy_BTC, R* drow_C, std::int64_t B, std::int64_t T, std::int64_t C, std::int64_t begin,
                      std::int64_t end, bool accumulate) {
  for (std::int64_t c = begin; c < end; ++c) {
    if (!accumulate) drow_C[c] = 0;
    for (std::int64_t b = 0; b < B; ++b) drow_C[c] += dy_BTC[b * (1 + T) * C + c];
  }
}

// 1 + T positions in x, T in y.
template <class R>
void drop_first(const R* x_BTC, R* y_BTC, std::int64_t T, std::int64_t C, std::int64_t begin, std::int64_t end) {
  for (std::int64_t b = begin; b < end; ++b)
    for (std::int64_t i = 0; i < T * C; ++i) y_BTC[b * T * C + i] = x_BTC[b * (1 + T) * C + C + i];
}

template <class R>
void drop_first_backward(const R* dy_BTC, R* dx_BTC, std::int64_t T, std::int64_t C, std::int64_t begin,
                         std::int64_t end) {
  for (std::int64_t b = begin; b < end; ++b) {
    R* dx = dx_BTC + b * (1 + T) * C;
    for (std::int64_t c = 0; c < C; ++c) dx[c] = R{};
    for (std::int64_t i = 0; i < T * C; ++i) dx[C + i] = dy_BTC[b * T * C + i];
  }
}

}  // namespace sink::ref
