// CPU backend: reordering and summing heads of F32 and BF16.
#include "engine/ops/heads/heads.h"

#include <cstring>

#include "engine/threads.h"

namespace sink::cpu {
namespace {

// f(b, first, last) for positions [first, last) of sequence b, on all threads. A single sequence is split.
template <class F>
void parallel_positions(std::int64_t B, std::int64_t T, F&& f) {
  std::int64_t splits = B > 1 ? 1 : std::min<std::int64_t>(T, thread_count());
  parallel_for(B * splits, [&](std::int64_t task) {
    std::int64_t split = task % splits;
    f(task / splits, T * split / splits, T * (split + 1) / splits);
  });
}

// Copies D elements of each of T positions, which are `step` elements apart.
template <class X>
void copy_positions(const X* from, std::int64_t from_step, X* to, std::int64_t to_step, std::int64_t T,
                    std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t) std::memcpy(to + t * to_step, from + t * from_step, D * sizeof(X));
}

// Moves H heads to or from heads [first_head, first_head + H) of every row.
template <bool kToHeads, class Heads, class Rows>
void move(Heads& heads_BHTD, Rows& rows_BTE, std::int64_t first_head) {
  std::int64_t B = heads_BHTD.dim(0), H = heads_BHTD.dim(1), T = heads_BHTD.dim(2), D = heads_BHTD.dim(3);
  std::int64_t E = rows_BTE.dim(2);
  with_real<float, bf16>(heads_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_positions(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
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

// y_n = sum_h o_hn for n in [begin, end), N = T D. Blocks of n keep the inner loops on adjacent elements.
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

void to_heads(const Tensor& rows_BTE, std::int64_t first_head, Tensor& heads_BHTD) {
  move<true>(heads_BHTD, rows_BTE, first_head);
}

void to_rows(const Tensor& heads_BHTD, std::int64_t first_head, Tensor& rows_BTE) {
  move<false>(heads_BHTD, rows_BTE, first_head);
}

void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), T = o_BHTD.dim(2), D = o_BHTD.dim(3);
  with_real<float, bf16>(o_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_positions(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      sum_over_heads(o_BHTD.data<X>() + b * H * T * D, y_BTD.data<X>() + b * T * D, H, T * D, first * D, last * D);
    });
  });
}

void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  std::int64_t B = do_BHTD.dim(0), H = do_BHTD.dim(1), T = do_BHTD.dim(2), D = do_BHTD.dim(3);
  with_real<float, bf16>(dy_BTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_positions(B, T, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      for (std::int64_t h = 0; h < H; ++h)
        copy_positions(dy_BTD.data<X>() + (b * T + first) * D, D, do_BHTD.data<X>() + ((b * H + h) * T + first) * D, D,
                       last - first, D);
    });
  });
}

}  // namespace sink::cpu
