#include "engine/ops/heads/heads_ref.h"

namespace sink::ref {
namespace {

// f(i, j) for every element i = (b, h, t, d) of the heads and its place j in rows, where head h is number
// first_head + h.
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

}  // namespace

void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1);
  to_heads(qkv_BTE, 0, q_BHTD);
  to_heads(qkv_BTE, H, k_BGTD);
  to_heads(qkv_BTE, H + G, v_BGTD);
}

void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE) {
  std::int64_t H = dq_BHTD.dim(1), G = dk_BGTD.dim(1);
  to_rows(dq_BHTD, 0, dqkv_BTE);
  to_rows(dk_BGTD, H, dqkv_BTE);
  to_rows(dv_BGTD, H + G, dqkv_BTE);
}

void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC) { to_rows(o_BHTD, 0, o_BTC); }
void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD) { to_heads(do_BTC, 0, do_BHTD); }

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

// Every head receives dy.
void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  std::int64_t B = do_BHTD.dim(0), H = do_BHTD.dim(1), TD = do_BHTD.dim(2) * do_BHTD.dim(3);
  const double* dy = dy_BTD.data<double>();
  double* d_o = do_BHTD.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t n = 0; n < TD; ++n) d_o[(b * H + h) * TD + n] = dy[b * TD + n];
}

}  // namespace sink::ref
