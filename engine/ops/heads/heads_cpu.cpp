// What trains: reordering and summing heads of F32 and BF16.
#include "engine/ops/heads/heads.h"

#include <cstring>

#include "engine/threads.h"

namespace sink::cpu {
namespace {

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

// Copies D numbers of each of T positions; the positions lie `step` numbers apart.
template <class X>
void copy_positions(const X* from, std::int64_t from_step, X* to, std::int64_t to_step, std::int64_t T,
                    std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t) std::memcpy(to + t * to_step, from + t * from_step, D * sizeof(X));
}

// The H heads of `heads` to or from heads [first_head, first_head + H) of those in every row of `rows`.
template <bool kToHeads, class Heads, class Rows>
void move(Heads& heads_BHTD, Rows& rows_BTE, std::int64_t first_head) {
  std::int64_t B = heads_BHTD.dim(0), H = heads_BHTD.dim(1), T = heads_BHTD.dim(2), D = heads_BHTD.dim(3);
  std::int64_t E = rows_BTE.dim(2);
  with_real<float, bf16>(heads_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    for_each_piece(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      for (std::int64_t h = 0; h < H; ++h) {
        auto* heads = heads_BHTD.template data<X>() + ((b * H + h) * T + first) * D;
        auto* rows = rows_BTE.template data<X>() + (b * T + first) * E + (first_head + h) * D;
        if constexpr (kToHeads)
          copy_positions(rows, E, heads, D, last - first, D);
        else
          copy_positions(heads, D, rows, E, last - first, D);
      }
    });
  });
}

// y_n = sum_h o_hn for n in [begin, end) of the N = T D numbers of a head, a block of numbers at a time and head by
// head: the loops within run over neighbours.
template <class X>
void sum_over_heads(const X* o_HN, X* y_N, std::int64_t H, std::int64_t N, std::int64_t begin, std::int64_t end) {
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

void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1);
  move<true>(q_BHTD, qkv_BTE, 0);
  move<true>(k_BGTD, qkv_BTE, H);
  move<true>(v_BGTD, qkv_BTE, H + G);
}

void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD, Tensor& dqkv_BTE) {
  std::int64_t H = dq_BHTD.dim(1), G = dk_BGTD.dim(1);
  move<false>(dq_BHTD, dqkv_BTE, 0);
  move<false>(dk_BGTD, dqkv_BTE, H);
  move<false>(dv_BGTD, dqkv_BTE, H + G);
}

void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC) { move<false>(o_BHTD, o_BTC, 0); }
void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD) { move<true>(do_BHTD, do_BTC, 0); }

void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), T = o_BHTD.dim(2), D = o_BHTD.dim(3);
  with_real<float, bf16>(o_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    for_each_piece(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      sum_over_heads(o_BHTD.data<X>() + b * H * T * D, y_BTD.data<X>() + b * T * D, H, T * D, first * D, last * D);
    });
  });
}

void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  std::int64_t B = do_BHTD.dim(0), H = do_BHTD.dim(1), T = do_BHTD.dim(2), D = do_BHTD.dim(3);
  with_real<float, bf16>(dy_BTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    for_each_piece(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      for (std::int64_t h = 0; h < H; ++h)
        copy_positions(dy_BTD.data<X>() + (b * T + first) * D, D, do_BHTD.data<X>() + ((b * H + h) * T + first) * D, D,
                       last - first, D);
    });
  });
}

}  // namespace sink::cpu
