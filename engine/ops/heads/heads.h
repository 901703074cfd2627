// Splits rows of a projection into attention heads, merges heads into rows, and sums heads.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// qkv: (B, T, (H + 2 G) D), the queries of H heads, then the keys of G heads, then their values. q: (B, H, T, D); k, v:
// (B, G, T, D). G < H where query heads share keys and values.
void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD);
void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE);

// o: (B, H, T, D) to (B, T, H D), the concatenated heads, and back.
void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC);
void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD);

// y_btd = sum_h o_bhtd; BF16 is summed in F32. Backward: do_bhtd = dy_btd.
void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD);
void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD);

// What a backend has of these: it moves H heads, which are heads [first_head, first_head + H) of every row.
SINK_DECLARE_BACKENDS(void to_heads(const Tensor& rows_BTE, std::int64_t first_head, Tensor& heads_BHTD))
SINK_DECLARE_BACKENDS(void to_rows(const Tensor& heads_BHTD, std::int64_t first_head, Tensor& rows_BTE))
SINK_BACKENDS(sum_heads)
SINK_BACKENDS(sum_heads_backward)

}  // namespace sink
