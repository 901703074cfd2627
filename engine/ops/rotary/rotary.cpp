#include "engine/ops/rotary/rotary.h"

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/rotary/rotary_cpu.h"
#include "engine/ops/rotary/rotary_cuda.h"
#include "engine/ops/rotary/rotary_ref.h"

namespace sink {

RotaryTable rotary_table(std::int64_t T, const std::vector<double>& turns_E, DType dtype, double length) {
  SINK_CHECK(dtype == accumulate_type(dtype), "rotary",
             std::string("the table must be f32 or f64, got ") + name_of(dtype));
  auto table = [&](auto f) {
    return Tensor::table<double>(T, static_cast<std::int64_t>(turns_E.size()),
                                 [&](std::int64_t t, std::int64_t e) {
                                   return length * f(static_cast<double>(t) * turns_E[static_cast<std::size_t>(e)]);
                                 })
        .to(dtype);
  };
  return {table([](double angle) { return std::cos(angle); }), table([](double angle) { return std::sin(angle); })};
}

template <>
struct Widened<const RotaryTable> {
  RotaryTable wide;
  explicit Widened(const RotaryTable& given)
      : wide{given.cos_TE.to(DType::F64), given.sin_TE.to(DType::F64), given.positions_BT} {}
  const RotaryTable& argument() const { return wide; }
  void round_back() {}
};

namespace {

// A row of the table for each of T positions, of at most D/2 columns; a position for each token, if for any.
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
