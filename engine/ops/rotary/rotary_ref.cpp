#include "engine/ops/rotary/rotary_ref.h"

#include <algorithm>

#include "engine/ops/reference_row.h"
#include "engine/ops/rotary/rotary_math.h"

namespace sink::ref {

// Landmark for the debugger: the D numbers at position t, the first 2E of them rotated by the angles of that position,
// or by the opposite ones where `sign` is -1.
[[gnu::noinline]] void rotary_row([[maybe_unused]] std::int64_t t, Row x_D, Row cos_E, Row sin_E, double sign,
                                  std::span<double> y_D) {
  std::size_t E = cos_E.size(), D = x_D.size();
  for (std::size_t e = 0; e < E; ++e) {
    auto [first, second] = rotate(x_D[e], x_D[e + E], cos_E[e], sign * sin_E[e]);
    y_D[e] = first;
    y_D[e + E] = second;
  }
  for (std::size_t d = 2 * E; d < D; ++d) y_D[d] = x_D[d];
}

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1);
  for (std::int64_t row = 0; row * D < x_BHTD.size(); ++row) {
    std::int64_t t = table.row(row / T / x_BHTD.dim(1), row % T, T);
    rotary_row(t, row_of(x_BHTD, row, D), row_of(table.cos_TE, t, E), row_of(table.sin_TE, t, E), inverse ? -1 : 1,
               row_of(y_BHTD, row, D));
  }
}

namespace {

// f(row of the table, of qkv and of x), the last two of D numbers, for every position and head of x, which is number
// first_head + h of the row_heads heads of qkv.
template <class F>
void for_each_head(const RotaryTable& table, const Tensor& x_BHTD, std::int64_t first_head, std::int64_t row_heads,
                   F&& f) {
  std::int64_t B = x_BHTD.dim(0), H = x_BHTD.dim(1), T = x_BHTD.dim(2);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = 0; t < T; ++t)
        f(table.row(b, t, T), (b * T + t) * row_heads + first_head + h, (b * H + h) * T + t);
}

}  // namespace

void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1), D = q_BHTD.dim(3), E = table.cos_TE.dim(1);
  auto rotate_into = [&](Tensor& heads, std::int64_t first_head) {
    for_each_head(table, heads, first_head, H + 2 * G, [&](std::int64_t t, std::int64_t row, std::int64_t head) {
      rotary_row(t, row_of(qkv_BTE, row, D), row_of(table.cos_TE, t, E), row_of(table.sin_TE, t, E), 1,
                 row_of(heads, head, D));
    });
  };
  rotate_into(q_BHTD, 0);
  rotate_into(k_BGTD, H);
  for_each_head(table, v_BGTD, H + G, H + 2 * G, [&](std::int64_t, std::int64_t row, std::int64_t head) {
    std::ranges::copy(row_of(qkv_BTE, row, D), row_of(v_BGTD, head, D).begin());
  });
}

void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE) {
  std::int64_t H = dq_BHTD.dim(1), G = dk_BGTD.dim(1), D = dq_BHTD.dim(3), E = table.cos_TE.dim(1);
  auto rotate_back = [&](const Tensor& heads, std::int64_t first_head) {
    for_each_head(table, heads, first_head, H + 2 * G, [&](std::int64_t t, std::int64_t row, std::int64_t head) {
      rotary_row(t, row_of(heads, head, D), row_of(table.cos_TE, t, E), row_of(table.sin_TE, t, E), -1,
                 row_of(dqkv_BTE, row, D));
    });
  };
  rotate_back(dq_BHTD, 0);
  rotate_back(dk_BGTD, H);
  for_each_head(table, dv_BGTD, H + G, H + 2 * G, [&](std::int64_t, std::int64_t row, std::int64_t head) {
    std::ranges::copy(row_of(dv_BGTD, head, D), row_of(dqkv_BTE, row, D).begin());
  });
}

}  // namespace sink::ref
