// Reference: rotary embedding in double.
#include "engine/ops/rotary/rotary.h"

#include <algorithm>
#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/reference_row.h"
#include "engine/ops/rotary/rotary_math.h"

namespace sink::ref {

// Breakpoint function: rotates the first 2E of D elements by the angles of position t, or by the opposite angles if
// `sign` is -1.
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

// f(row of the table, D elements of qkv, D elements of x) for every position and head of x, which is head first_head +
// h of the row_heads heads of qkv.
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

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

RotaryTable rotary_table(std::int64_t T, const std::vector<double>& inv_freq_E, DType dtype, double attention_scaling) {
  SINK_CHECK(dtype == accumulate_type(dtype), "rotary",
             std::string("the table must be f32 or f64, got ") + name_of(dtype));
  auto table = [&](auto f) {
    return Tensor::table<double>(T, static_cast<std::int64_t>(inv_freq_E.size()),
                                 [&](std::int64_t t, std::int64_t e) {
                                   return attention_scaling *
                                          f(static_cast<double>(t) * inv_freq_E[static_cast<std::size_t>(e)]);
                                 })
        .to(dtype);
  };
  return {table([](double angle) { return std::cos(angle); }), table([](double angle) { return std::sin(angle); })};
}

template <>
struct UpcastF64<const RotaryTable> {
  RotaryTable wide;
  explicit UpcastF64(const RotaryTable& given)
      : wide{given.cos_TE.to(DType::F64), given.sin_TE.to(DType::F64), given.positions_BT} {}
  const RotaryTable& argument() const { return wide; }
  void round_back() {}
};

namespace {

// Whether the table has a row for each of T positions and at most D/2 columns, and a position for each token, if any.
bool fits(const RotaryTable& table, const Tensor& x_BHTD) {
  const Tensor& cos_TE = table.cos_TE;
  return x_BHTD.rank() == 4 && cos_TE.dim(0) >= x_BHTD.dim(2) && 2 * cos_TE.dim(1) <= x_BHTD.dim(3) &&
         cos_TE.dtype() == accumulate_type(x_BHTD.dtype()) &&
         (!table.positions_BT.defined() || (table.positions_BT.shape() == Shape({x_BHTD.dim(0), x_BHTD.dim(2)}) &&
                                            table.positions_BT.dtype() == DType::I32));
}

void check_split(const Tensor& qkv_BTE, const RotaryTable& table, const Tensor& q_BHTD, const Tensor& k_BGTD,
                 const Tensor& v_BGTD) {
  bool of_rank = qkv_BTE.rank() == 3 && q_BHTD.rank() == 4 && k_BGTD.rank() == 4;
  SINK_CHECK(of_rank && qkv_BTE.dim(0) == q_BHTD.dim(0) && qkv_BTE.dim(1) == q_BHTD.dim(2) &&
                 qkv_BTE.dim(2) == (q_BHTD.dim(1) + 2 * k_BGTD.dim(1)) * q_BHTD.dim(3) &&
                 k_BGTD.shape() == Shape({q_BHTD.dim(0), k_BGTD.dim(1), q_BHTD.dim(2), q_BHTD.dim(3)}) &&
                 qkv_BTE.dtype() == q_BHTD.dtype() && k_BGTD.dtype() == q_BHTD.dtype() && fits(table, q_BHTD),
             "split_rotary",
             "expected rows (B, T, (H + 2 G) D), queries (B, H, T, D), keys (B, G, T, D) of one type, and a table for "
             "T positions; got " +
                 qkv_BTE.str() + ", " + q_BHTD.str() + ", " + k_BGTD.str() + " and " + table.cos_TE.str() +
                 table.positions_text());
  check_like("split_rotary", "v", v_BGTD, k_BGTD);
  check_like("split_rotary", "sin", table.sin_TE, table.cos_TE);
}

}  // namespace

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  const Tensor& cos_TE = table.cos_TE;
  SINK_CHECK(fits(table, x_BHTD), "rotary",
             "expected a table of f32 (f64 for f64), a row for each of T positions and at most D/2 columns: x is " +
                 x_BHTD.str() + ", table is " + cos_TE.str() + table.positions_text());
  check_like("rotary", "sin", table.sin_TE, cos_TE);
  check_like("rotary", "y", y_BHTD, x_BHTD);
  SINK_SELECT(x_BHTD, rotary)(x_BHTD, table, inverse, y_BHTD);
}

void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  check_split(qkv_BTE, table, q_BHTD, k_BGTD, v_BGTD);
  SINK_SELECT(qkv_BTE, split_rotary)(qkv_BTE, table, q_BHTD, k_BGTD, v_BGTD);
}

void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE) {
  check_split(dqkv_BTE, table, dq_BHTD, dk_BGTD, dv_BGTD);
  SINK_SELECT(dqkv_BTE, split_rotary_backward)(dq_BHTD, dk_BGTD, dv_BGTD, table, dqkv_BTE);
}

}  // namespace sink
