#include "engine/ops/heads/heads.h"

#include "engine/implementation.h"
#include "engine/ops/heads/heads_cpu.h"
#include "engine/ops/heads/heads_cuda.h"
#include "engine/ops/heads/heads_ref.h"

namespace sink {
namespace {

void check_heads(const Tensor& heads_BHTD, const Tensor& rows_BTE, std::int64_t row_heads) {
  bool fits = heads_BHTD.rank() == 4 && rows_BTE.rank() == 3 && rows_BTE.dim(0) == heads_BHTD.dim(0) &&
              rows_BTE.dim(1) == heads_BHTD.dim(2) && rows_BTE.dim(2) == row_heads * heads_BHTD.dim(3) &&
              rows_BTE.dtype() == heads_BHTD.dtype();
  SINK_CHECK(fits, "heads",
             "expected (B, heads, T, D) and (B, T, " + std::to_string(row_heads) + " D) of one type, got " +
                 heads_BHTD.str() + " and " + rows_BTE.str());
}

void check_merged(const Tensor& heads_BHTD, const Tensor& rows_BTC) {
  check_heads(heads_BHTD, rows_BTC, heads_BHTD.rank() == 4 ? heads_BHTD.dim(1) : 1);
}

// A row holds H + 2 G heads: queries, keys and values.
void check_split(const Tensor& qkv_BTE, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& v_BGTD) {
  SINK_CHECK(q_BHTD.rank() == 4 && k_BGTD.rank() == 4 && v_BGTD.shape() == k_BGTD.shape(), "heads",
             "expected queries (B, H, T, D), keys and values (B, G, T, D), got " + q_BHTD.str() + ", " + k_BGTD.str() +
                 " and " + v_BGTD.str());
  std::int64_t row_heads = q_BHTD.dim(1) + 2 * k_BGTD.dim(1);
  for (const Tensor* heads : {&q_BHTD, &k_BGTD, &v_BGTD}) check_heads(*heads, qkv_BTE, row_heads);
}

}  // namespace

void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  check_split(qkv_BTE, q_BHTD, k_BGTD, v_BGTD);
  SINK_SELECT(qkv_BTE, split_heads)(qkv_BTE, q_BHTD, k_BGTD, v_BGTD);
}

void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE) {
  check_split(dqkv_BTE, dq_BHTD, dk_BGTD, dv_BGTD);
  SINK_SELECT(dqkv_BTE, split_heads_backward)(dq_BHTD, dk_BGTD, dv_BGTD, dqkv_BTE);
}

void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC) {
  check_merged(o_BHTD, o_BTC);
  SINK_SELECT(o_BHTD, merge_heads)(o_BHTD, o_BTC);
}

void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD) {
  check_merged(do_BHTD, do_BTC);
  SINK_SELECT(do_BTC, merge_heads_backward)(do_BTC, do_BHTD);
}

void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD) {
  check_heads(o_BHTD, y_BTD, 1);
  SINK_SELECT(o_BHTD, sum_heads)(o_BHTD, y_BTD);
}

void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  check_heads(do_BHTD, dy_BTD, 1);
  SINK_SELECT(dy_BTD, sum_heads_backward)(dy_BTD, do_BHTD);
}

}  // namespace sink
