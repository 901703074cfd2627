#include "engine/ops/rotary/rotary_ref.h"

#include "engine/ops/rotary/rotary_math.h"

namespace sink::ref {

// Landmark for the debugger: the D numbers at position t, the first 2E of them rotated by the angles of that position,
// or by the opposite ones where `sign` is -1.
[[gnu::noinline]] void rotary_row([[maybe_unused]] std::int64_t t, const double* x_D, const double* cos_E,
                                  const double* sin_E, double sign, double* y_D, std::int64_t E, std::int64_t D) {
  for (std::int64_t e = 0; e < E; ++e) {
    auto [first, second] = rotate(x_D[e], x_D[e + E], cos_E[e], sign * sin_E[e]);
    y_D[e] = first;
    y_D[e + E] = second;
  }
  for (std::int64_t d = 2 * E; d < D; ++d) y_D[d] = x_D[d];
}

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1);
  for (std::int64_t row = 0; row * D < x_BHTD.size(); ++row) {
    std::int64_t t = row % T;
    rotary_row(t, x_BHTD.data<double>() + row * D, table.cos_TE.data<double>() + t * E,
               table.sin_TE.data<double>() + t * E, inverse ? -1 : 1, y_BHTD.data<double>() + row * D, E, D);
  }
}

namespace {

// f(t, place in the rows, place in the heads) for the D numbers of every position and head of x, which is number
// first_head + h in the rows.
template <class F>
void for_each_head(const Tensor& x_BHTD, std::int64_t first_head, std::int64_t row_heads, F&& f) {
  std::int64_t B = x_BHTD.dim(0), H = x_BHTD.dim(1), T = x_BHTD.dim(2), D = x_BHTD.dim(3);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = 0; t < T; ++t)
        f(t, ((b * T + t) * row_heads + first_head + h) * D, ((b * H + h) * T + t) * D);
}

}  // namespace

void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  std::int64_t H = q_BHTD.dim(1), G = k_BGTD.dim(1), D = q_BHTD.dim(3), E = table.cos_TE.dim(1);
  const double* rows = qkv_BTE.data<double>();
  auto rotate_into = [&](Tensor& heads, std::int64_t first_head) {
    for_each_head(heads, first_head, H + 2 * G, [&](std::int64_t t, std::int64_t row, std::int64_t head) {
      rotary_row(t, rows + row, table.cos_TE.data<double>() + t * E, table.sin_TE.data<double>() + t * E, 1,
                 heads.data<double>() + head, E, D);
    });
  };
  rotate_into(q_BHTD, 0);
  rotate_into(k_BGTD, H);
  for_each_head(v_BGTD, H + G, H + 2 * G, [&](std::int64_t, std::int64_t row, std::int64_t head) {
    for (std::int64_t d = 0; d < D; ++d) v_BGTD.data<double>()[head + d] = rows[row + d];
  });
}

void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE) {
  std::int64_t H = dq_BHTD.dim(1), G = dk_BGTD.dim(1), D = dq_BHTD.dim(3), E = table.cos_TE.dim(1);
  double* rows = dqkv_BTE.data<double>();
  auto rotate_back = [&](const Tensor& heads, std::int64_t first_head) {
    for_each_head(heads, first_head, H + 2 * G, [&](std::int64_t t, std::int64_t row, std::int64_t head) {
      rotary_row(t, heads.data<double>() + head, table.cos_TE.data<double>() + t * E,
                 table.sin_TE.data<double>() + t * E, -1, rows + row, E, D);
    });
  };
  rotate_back(dq_BHTD, 0);
  rotate_back(dk_BGTD, H);
  for_each_head(dv_BGTD, H + G, H + 2 * G, [&](std::int64_t, std::int64_t row, std::int64_t head) {
    for (std::int64_t d = 0; d < D; ++d) rows[row + d] = dv_BGTD.data<double>()[head + d];
  });
}

}  // namespace sink::ref
