#include "engine/ops/heads/heads.h"

#include "engine/ops/heads/heads_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

struct Sizes {
  std::int64_t B, H, T, D;
};

Sizes check(const Tensor& heads_BHTD, const Tensor& rows_BTE, std::int64_t parts) {
  bool fits = heads_BHTD.rank() == 4 && rows_BTE.rank() == 3 && rows_BTE.dim(0) == heads_BHTD.dim(0) &&
              rows_BTE.dim(1) == heads_BHTD.dim(2) &&
              rows_BTE.dim(2) == parts * heads_BHTD.dim(1) * heads_BHTD.dim(3) &&
              rows_BTE.dtype() == heads_BHTD.dtype();
  SINK_CHECK(fits, "heads",
             "expected (B, H, T, D) and (B, T, " + std::to_string(parts) + " H D) of one type, got " +
                 heads_BHTD.str() + " and " + rows_BTE.str());
  return {heads_BHTD.dim(0), heads_BHTD.dim(1), heads_BHTD.dim(2), heads_BHTD.dim(3)};
}

// Part `part` of `parts` in every row of `rows` to or from `heads`.
template <bool kToHeads, class Heads, class Rows>
void move(Heads& heads_BHTD, Rows& rows_BTE, std::int64_t part, std::int64_t parts) {
  auto [B, H, T, D] = check(heads_BHTD, rows_BTE, parts);
  with_real(heads_BHTD.dtype(), [&, B = B, H = H, T = T, D = D](auto zero) {
    using R = decltype(zero);
    std::int64_t row_size = parts * H * D;
    // A task is a sequence; a single sequence is cut along its positions.
    std::int64_t pieces = B > 1 ? 1 : std::min<std::int64_t>(T, thread_count());
    parallel_for(B * pieces, [&](std::int64_t task) {
      std::int64_t b = task / pieces, piece = task % pieces;
      std::int64_t first = T * piece / pieces, last = T * (piece + 1) / pieces;
      for (std::int64_t h = 0; h < H; ++h) {
        auto* heads = heads_BHTD.template data<R>() + ((b * H + h) * T + first) * D;
        auto* rows = rows_BTE.template data<R>() + (b * T + first) * row_size + (part * H + h) * D;
        if constexpr (kToHeads)
          ref::rows_to_heads(rows, row_size, heads, 1, last - first, D);
        else
          ref::heads_to_rows(heads, rows, row_size, 1, last - first, D);
      }
    });
  });
}

}  // namespace

void split_heads(const Tensor& qkv_BTE, Tensor& q_BHTD, Tensor& k_BHTD, Tensor& v_BHTD) {
  move<true>(q_BHTD, qkv_BTE, 0, 3);
  move<true>(k_BHTD, qkv_BTE, 1, 3);
  move<true>(v_BHTD, qkv_BTE, 2, 3);
}

void split_heads_backward(const Tensor& dq_BHTD, const Tensor& dk_BHTD, const Tensor& dv_BHTD, Tensor& dqkv_BTE) {
  move<false>(dq_BHTD, dqkv_BTE, 0, 3);
  move<false>(dk_BHTD, dqkv_BTE, 1, 3);
  move<false>(dv_BHTD, dqkv_BTE, 2, 3);
}

void merge_heads(const Tensor& o_BHTD, Tensor& o_BTC) { move<false>(o_BHTD, o_BTC, 0, 1); }

void merge_heads_backward(const Tensor& do_BTC, Tensor& do_BHTD) { move<true>(do_BHTD, do_BTC, 0, 1); }

}  // namespace sink
