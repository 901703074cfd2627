// Moves the D numbers of every (position, head) between row order (b, t, h) and head order (b, h, t).
#pragma once

#include <cstdint>
#include <cstring>

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

}  // namespace sink::ref
