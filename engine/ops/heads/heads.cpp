#include "engine/ops/heads/heads.h"

#include "engine/ops/heads/heads_ref.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

namespace sink {
namespace {

struct HeadSizes {
  std::int64_t B, H, T, D;
};

HeadSizes check(const Tensor& heads_BHTD, const Tensor& rows_BTE, std::int64_t row_heads) {
  bool fits = heads_BHTD.rank() == 4 && rows_BTE.rank() == 3 && rows_BTE.dim(0) == heads_BHTD.dim(0) &&
              rows_BTE.dim(1) == heads_BHTD.dim(2) && rows_BTE.dim(2) == row_heads * heads_BHTD.dim(3) &&
              rows_BTE.dtype() == heads_BHTD.dtype();
  SINK_CHECK(fits, "heads",
             "expected (B, heads, T, D) and (B, T, " + std::to_string(row_heads) + " D) of one type, got " +
                 heads_BHTD.str() + " and " + rows_BTE.str());
  return {heads_BHTD.dim(0), heads_BHTD.dim(1), heads_BHTD.dim(2), heads_BHTD.dim(3)};
}

// Heads in a row of queries, keys and values: H + 2 G.
std::int64_t count_heads(const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& v_BGTD) {
  SINK_CHECK(q_BHTD.rank() == 4 && k_BGTD.rank() == 4 && v_BGTD.shape() == k_BGTD.shape(), "heads",
             "expected queries (B, H, T, D), keys and values (B, G, T, D), got " + q_BHTD.str() + ", " + k_BGTD.str() +
                 " and " + v_BGTD.str());
  return q_BHTD.dim(1) + 2 * k_BGTD.dim(1);
}

// f(b, first, last) for the positions [first, last) of every sequence b: a task is a sequence, or a piece of it where
// there is only one.
template <class F>
void for_each_piece(std::int64_t B, std::int64_t T, F&& f) {
  std::int64_t pieces = B > 1 ? 1 : std::min<std::int64_t>(T, thread_count());
  parallel_for(B * pieces, [&](std::int64_t task) {
    std::int64_t piece = task % pieces;
    f(task / pieces, T * piece / pieces, T * (piece + 1) / pieces);
  });
}

// Heads [first_head, first_head + H) of the `row_heads` in every row of `rows` to or from `heads`.
template <bool kToHeads, class Heads, class Rows>
void move(Heads& heads_BHTD, Rows& rows_BTE, std::int64_t first_head, std::int64_t row_heads) {
  auto [B, H, T, D] = check(heads_BHTD, rows_BTE, row_heads);
  with_real(heads_BHTD.dtype(), [&, B = B, H = H, T = T, D = D](auto zero) {
    using R = decltype(zero);
    std::int64_t row_size = row_heads * D;
    for_each_piece(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      for (std::int64_t h = 0; h < H; ++h) {
        auto* heads = heads_BHTD.template data<R>() + ((b * H + h) * T + first) * D;
        auto* rows = rows_BTE.template data<R>() + (b * T + first) * row_size + (first_head + h) * D;
        if constexpr (kToHeads)
          ref::rows_to_heads(rows, row_size, heads, 1, last - first, D);
        else
          ref::heads_to_rows(heads, rows, row_size, 1, last - first, D);
      }
    });
  });
}

}  // namespace

void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  std::int64_t all = count_heads(q_BHTD, k_BGTD, v_BGTD), H = q_BHTD.dim(1), G = k_BGTD.dim(1);
  move<true>(q_BHTD, qkv_BTE, 0, all);
  move<true>(k_BGTD, qkv_BTE, H, all);
  move<true>(v_BGTD, qkv_BTE, H + G, all);
}

void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE) {
  std::int64_t all = count_heads(dq_BHTD, dk_BGTD, dv_BGTD), H = dq_BHTD.dim(1), G = dk_BGTD.dim(1);
  move<false>(dq_BHTD, dqkv_BTE, 0, all);
  move<false>(dk_BGTD, dqkv_BTE, H, all);
  move<false>(dv_BGTD, dqkv_BTE, H + G, all);
}

void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC) {
  move<false>(o_BHTD, o_BTC, 0, o_BHTD.rank() == 4 ? o_BHTD.dim(1) : 1);
}

void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD) {
  move<true>(do_BHTD, do_BTC, 0, do_BHTD.rank() == 4 ? do_BHTD.dim(1) : 1);
}

namespace cpu {
namespace {

// As ref::sum_heads, a block of numbers at a time and head by head: the loops within run over neighbours.
template <class R>
void sum_heads(const R* o_HN, R* y_N, std::int64_t H, std::int64_t N, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kBlock = 128;
  float sum[kBlock];
  for (std::int64_t n = begin; n < end; n += kBlock) {
    std::int64_t count = std::min(kBlock, end - n);
    for (std::int64_t i = 0; i < count; ++i) sum[i] = 0;
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < count; ++i) sum[i] += o_HN[h * N + n + i];
    for (std::int64_t i = 0; i < count; ++i) store(y_N[n + i], sum[i]);
  }
}

}  // namespace
}  // namespace cpu

void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD) {
  auto [B, H, T, D] = check(o_BHTD, y_BTD, 1);
  with_real(o_BHTD.dtype(), [&, B = B, H = H, T = T, D = D](auto zero) {
    using R = decltype(zero);
    bool reference = std::is_same_v<R, double> || use_reference();
    for_each_piece(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      const R* o = o_BHTD.data<R>() + b * H * T * D;
      R* y = y_BTD.data<R>() + b * T * D;
      if (reference) return ref::sum_heads(o, y, H, T * D, first * D, last * D);
      cpu::sum_heads(o, y, H, T * D, first * D, last * D);
    });
  });
}

void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  auto [B, H, T, D] = check(do_BHTD, dy_BTD, 1);
  with_real(dy_BTD.dtype(), [&, B = B, H = H, T = T, D = D](auto zero) {
    using R = decltype(zero);
    for_each_piece(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      ref::sum_heads_backward(dy_BTD.data<R>() + b * T * D, do_BHTD.data<R>() + b * H * T * D, H, T * D, first * D,
                              last * D);
    });
  });
}

}  // namespace sink
