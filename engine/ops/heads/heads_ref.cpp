// Reference: reordering and summing heads in double.
#include "engine/ops/heads/heads.h"

#include "engine/implementation.h"

namespace sink::ref {
namespace {

// f(i, j) for every element i = (b, h, t, d) of the heads and its index j in the rows; head h is head first_head + h of
// a row.
template <class F>
void for_each_place(const Tensor& heads_BHTD, const Tensor& rows_BTE, std::int64_t first_head, F&& f) {
  std::int64_t B = heads_BHTD.dim(0), H = heads_BHTD.dim(1), T = heads_BHTD.dim(2), D = heads_BHTD.dim(3);
  std::int64_t E = rows_BTE.dim(2);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t d = 0; d < D; ++d)
          f(((b * H + h) * T + t) * D + d, (b * T + t) * E + (first_head + h) * D + d);
}

}  // namespace

void to_heads(const Tensor& rows_BTE, std::int64_t first_head, Tensor& heads_BHTD) {
  const double* rows = rows_BTE.data<double>();
  double* heads = heads_BHTD.data<double>();
  for_each_place(heads_BHTD, rows_BTE, first_head, [&](std::int64_t i, std::int64_t j) { heads[i] = rows[j]; });
}

void to_rows(const Tensor& heads_BHTD, std::int64_t first_head, Tensor& rows_BTE) {
  const double* heads = heads_BHTD.data<double>();
  double* rows = rows_BTE.data<double>();
  for_each_place(heads_BHTD, rows_BTE, first_head, [&](std::int64_t i, std::int64_t j) { rows[j] = heads[i]; });
}

void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), TD = o_BHTD.dim(2) * o_BHTD.dim(3);
  const double* o = o_BHTD.data<double>();
  double* y = y_BTD.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t n = 0; n < TD; ++n) {
      double sum = 0;
      for (std::int64_t h = 0; h < H; ++h) sum += o[(b * H + h) * TD + n];
      y[b * TD + n] = sum;
    }
}

void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  std::int64_t B = do_BHTD.dim(0), H = do_BHTD.dim(1), TD = do_BHTD.dim(2) * do_BHTD.dim(3);
  const double* dy = dy_BTD.data<double>();
  double* d_o = do_BHTD.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t n = 0; n < TD; ++n) d_o[(b * H + h) * TD + n] = dy[b * TD + n];
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
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
  const std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1);
  SINK_SELECT(qkv_BTE, to_heads)(qkv_BTE, 0, q_BHTD);
  SINK_SELECT(qkv_BTE, to_heads)(qkv_BTE, H, k_BGTD);
  SINK_SELECT(qkv_BTE, to_heads)(qkv_BTE, H + G, v_BGTD);
}

void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE) {
  check_split(dqkv_BTE, dq_BHTD, dk_BGTD, dv_BGTD);
  const std::int64_t H = dq_BHTD.dim(1), G = dk_BGTD.dim(1);
  SINK_SELECT(dqkv_BTE, to_rows)(dq_BHTD, 0, dqkv_BTE);
  SINK_SELECT(dqkv_BTE, to_rows)(dk_BGTD, H, dqkv_BTE);
  SINK_SELECT(dqkv_BTE, to_rows)(dv_BGTD, H + G, dqkv_BTE);
}

void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC) {
  check_merged(o_BHTD, o_BTC);
  SINK_SELECT(o_BHTD, to_rows)(o_BHTD, 0, o_BTC);
}

void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD) {
  check_merged(do_BHTD, do_BTC);
  SINK_SELECT(do_BTC, to_heads)(do_BTC, 0, do_BHTD);
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
