// CPU backend: rotary embedding of F32 and BF16, computed in float.
#include "engine/ops/rotary/rotary.h"

#include "engine/ops/rotary/rotary_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

// Rotates the first 2E of D elements by the angles of one position, or by the opposite angles if `sign` is -1.
template <class X>
[[gnu::noinline]] void rotate_row(const X* x_D, const float* cos_E, const float* sin_E, float sign, X* y_D,
                                  std::int64_t E, std::int64_t D) {
#pragma omp simd
  for (std::int64_t e = 0; e < E; ++e) {
    auto [first, second] = rotate(float(x_D[e]), float(x_D[e + E]), cos_E[e], sign * sin_E[e]);
    store(y_D[e], first);
    store(y_D[e + E], second);
  }
  if (y_D != x_D) std::copy(x_D + 2 * E, x_D + D, y_D + 2 * E);
}

// run(D elements in rows, the same in heads, row of the table) for all heads of x; the first is head first_head of a
// row. A task handles up to kPositions positions of a sequence.
template <class X, class Rows, class Heads, class F>
void for_each_head(const RotaryTable& table, Rows& rows_BTE, Heads& x_BHTD, std::int64_t first_head, const F& run) {
  constexpr std::int64_t kPositions = 64;
  std::int64_t B = x_BHTD.dim(0), H = x_BHTD.dim(1), T = x_BHTD.dim(2), D = x_BHTD.dim(3), width = rows_BTE.dim(2);
  std::int64_t splits = (T + kPositions - 1) / kPositions;
  auto* rows = rows_BTE.template data<X>();
  auto* heads = x_BHTD.template data<X>();
  parallel_for(B * splits, [&](std::int64_t task) {
    std::int64_t b = task / splits, begin = task % splits * kPositions, end = std::min(T, begin + kPositions);
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = begin; t < end; ++t)
        run(rows + (b * T + t) * width + (first_head + h) * D, heads + ((b * H + h) * T + t) * D, table.row(b, t, T));
  });
}

}  // namespace

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1);
  std::int64_t rows = x_BHTD.size() / std::max<std::int64_t>(D, 1);
  const float *cos = table.cos_TE.data<float>(), *sin = table.sin_TE.data<float>();
  float sign = inverse ? -1 : 1;
  with_real<float, bf16>(x_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(rows, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t t = table.row(row / T / x_BHTD.dim(1), row % T, T);
        rotate_row(x_BHTD.data<X>() + row * D, cos + t * E, sin + t * E, sign, y_BHTD.data<X>() + row * D, E, D);
      }
    });
  });
}

void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1), D = q_BHTD.dim(3), E = table.cos_TE.dim(1);
  const float *cos = table.cos_TE.data<float>(), *sin = table.sin_TE.data<float>();
  with_real<float, bf16>(qkv_BTE.dtype(), [&](auto zero) {
    using X = decltype(zero);
    auto rotated = [&](const X* row_D, X* head_D, std::int64_t t) {
      rotate_row(row_D, cos + t * E, sin + t * E, 1, head_D, E, D);
    };
    for_each_head<X>(table, qkv_BTE, q_BHTD, 0, rotated);
    for_each_head<X>(table, qkv_BTE, k_BGTD, H, rotated);
    for_each_head<X>(table, qkv_BTE, v_BGTD, H + G,
                     [&](const X* row_D, X* head_D, std::int64_t) { std::copy_n(row_D, D, head_D); });
  });
}

void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE) {
  std::int64_t H = dq_BHTD.dim(1), G = dk_BGTD.dim(1), D = dq_BHTD.dim(3), E = table.cos_TE.dim(1);
  const float *cos = table.cos_TE.data<float>(), *sin = table.sin_TE.data<float>();
  with_real<float, bf16>(dqkv_BTE.dtype(), [&](auto zero) {
    using X = decltype(zero);
    auto rotated_back = [&](X* row_D, const X* head_D, std::int64_t t) {
      rotate_row(head_D, cos + t * E, sin + t * E, -1, row_D, E, D);
    };
    for_each_head<X>(table, dqkv_BTE, dq_BHTD, 0, rotated_back);
    for_each_head<X>(table, dqkv_BTE, dk_BGTD, H, rotated_back);
    for_each_head<X>(table, dqkv_BTE, dv_BGTD, H + G,
                     [&](X* row_D, const X* head_D, std::int64_t) { std::copy_n(head_D, D, row_D); });
  });
}

}  // namespace sink::cpu
