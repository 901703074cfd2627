#include "engine/ops/prepend/prepend.h"

#include "engine/implementation.h"
#include "engine/ops/prepend/prepend_cpu.h"
#include "engine/ops/prepend/prepend_cuda.h"
#include "engine/ops/prepend/prepend_ref.h"

namespace sink {
namespace {

// `longer` has one position more than the T of `shorter`.
void check_prepend(const char* tag, const Tensor& shorter_BTC, const Tensor& longer_BTC) {
  bool fits = shorter_BTC.rank() == 3 && longer_BTC.rank() == 3 && longer_BTC.dim(0) == shorter_BTC.dim(0) &&
              longer_BTC.dim(1) == shorter_BTC.dim(1) + 1 && longer_BTC.dim(2) == shorter_BTC.dim(2) &&
              longer_BTC.dtype() == shorter_BTC.dtype();
  SINK_CHECK(fits, tag,
             "expected (B, T, C) and (B, 1 + T, C) of one type, got " + shorter_BTC.str() + " and " + longer_BTC.str());
}

void check_row(const char* tag, const Tensor& x_BTC, const Tensor& row_1C) {
  bool fits = row_1C.shape() == Shape{1, x_BTC.dim(2)} && row_1C.dtype() == x_BTC.dtype() &&
              row_1C.dtype() == accumulate_type(row_1C.dtype());
  SINK_CHECK(fits, tag,
             "expected (B, T, C) and a row (1, C), both f32 or both f64, got " + x_BTC.str() + " and " + row_1C.str());
}

}  // namespace

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  check_prepend("prepend", x_BTC, y_BTC);
  check_row("prepend", x_BTC, row_1C);
  SINK_SELECT(x_BTC, prepend)(x_BTC, row_1C, y_BTC);
}

void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  check_prepend("prepend_backward", dx_BTC, dy_BTC);
  check_row("prepend_backward", dx_BTC, drow_1C);
  SINK_SELECT(dy_BTC, prepend_backward)(dy_BTC, dx_BTC, drow_1C, accumulate_drow);
}

void drop_first(const Tensor& x_BTC, Tensor& y_BTC) {
  check_prepend("drop_first", y_BTC, x_BTC);
  SINK_SELECT(x_BTC, drop_first)(x_BTC, y_BTC);
}

void drop_first_backward(const Tensor& dy_BTC, Tensor& dx_BTC) {
  check_prepend("drop_first_backward", dy_BTC, dx_BTC);
  SINK_SELECT(dy_BTC, drop_first_backward)(dy_BTC, dx_BTC);
}

}  // namespace sink
