// Embedding rows [begin, end) of a batch, and the gradient of columns [begin, end) of the table.
#pragma once

#include <cstdint>

namespace sink::ref {

template <class R>
void embedding(const std::int32_t* tokens_N, const R* w_VC, R* x_NC, std::int64_t C, std::int64_t begin,
               std::int64_t end) {
  for (std::int64_t n = begin; n < end; ++n)
    for (std::int64_t c = 0; c < C; ++c) x_NC[n * C + c] = w_VC[tokens_N[n] * C + c];
}

// Forward was: x_nc = w_{token(n), c}. A range of columns belongs to one thread, so two tokens never race.
template <class R>
void embedding_backward(const R* dx_NC, const std::int32_t* tokens_N, R* dw_VC, std::int64_t N, std::int64_t C,
                        std::int64_t begin, std::int64_t end) {
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t c = begin; c < end; ++c) dw_VC[tokens_N[n] * C + c] += dx_NC[n * C + c];
}

}  // namespace sink::ref
