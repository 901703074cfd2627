// One row of a residual sum u = a + b and of its gradients. The norms of sums on the CPU call these row by row, while
// the row is in the cache.
#pragma once

#include <algorithm>

#include "engine/tensor.h"

namespace sink::cpu {

// Before and after a row of a norm whose input is not a sum.
inline constexpr auto kNoOp = [](std::int64_t) {};

// u_c = a_c + b_c, F32; b is F32 or BF16.
inline void add_row(const Tensor& a, const Tensor& b, std::int64_t row, std::int64_t C, Tensor& u) {
  with_real<float, bf16>(b.dtype(), [&](auto zero) {
    const float* a_C = a.data<float>() + row * C;
    const auto* b_C = b.data<decltype(zero)>() + row * C;
    float* u_C = u.data<float>() + row * C;
    for (std::int64_t c = 0; c < C; ++c) u_C[c] = a_C[c] + b_C[c];
  });
}

// da_c = du_c if du is defined; the gradient of the norm is added later.
inline void init_gradient_row(const Tensor& du, std::int64_t row, std::int64_t C, Tensor& da) {
  if (du.defined()) std::copy_n(du.data<float>() + row * C, C, da.data<float>() + row * C);
}

// db_c = da_c rounded to BF16, if db is defined.
inline void round_gradient_row(const Tensor& da, std::int64_t row, std::int64_t C, Tensor& db) {
  if (!db.defined()) return;
  const float* da_C = da.data<float>() + row * C;
  bf16* db_C = db.data<bf16>() + row * C;
  for (std::int64_t c = 0; c < C; ++c) store(db_C[c], da_C[c]);
}

}  // namespace sink::cpu
