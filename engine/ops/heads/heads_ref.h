// Moves the D numbers of every (position, head) between row order (b, t, h) and head order (b, h, t), or sums the
// heads.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/dtype.h"

namespace sink::ref {

// rows: (T, row_size), of which head h starts at h * D. heads: (H, T, D). One sequence.
template <class R>
void rows_to_heads(const R* rows_TE, std::int64_t row_size, R* heads_HTD, std::int64_t H, std::int64_t T,
                   std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t h = 0; h < H; ++h)
      std::memcpy(heads_HTD + (h * T + t) * D, rows_TE + t * row_size + h * D, D * sizeof(R));
}

template <class R>
void heads_to_rows(const R* heads_HTD, R* rows_TE, std::int64_t row_size, std::int64_t H, std::int64_t T,
                   std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t h = 0; h < H; ++h)
      std::memcpy(rows_TE + t * row_size + h * D, heads_HTD + (h * T + t) * D, D * sizeof(R));
}

// y_n = sum_h o_hn for n in [begin, end) of the N = T D numbers of a head. One sequence.
template <class R>
void sum_heads(const R* o_HN, R* y_N, std::int64_t H, std::int64_t N, std::int64_t begin, std::int64_t end) {
  for (std::int64_t n = begin; n < end; ++n) {
    std::conditional_t<std::is_same_v<R, bf16>, float, R> sum = 0;
    for (std::int64_t h = 0; h < H; ++h) sum += o_HN[h * N + n];
    store(y_N[n], sum);
  }
}

// Every head receives dy.
template <class R>
void sum_heads_backward(const R* dy_N, R* do_HN, std::int64_t H, std::int64_t N, std::int64_t begin, std::int64_t end) {
  for (std::int64_t h = 0; h < H; ++h) std::memcpy(do_HN + h * N + begin, dy_N + begin, (end - begin) * sizeof(R));
}

}  // namespace sink::ref
