#include "engine/ops/prepend/prepend.h"

#include "engine/ops/prepend/prepend_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

// `longer` has one position more than the T of `shorter`.
void check(const char* tag, const Tensor& shorter_BTC, const Tensor& longer_BTC) {
  bool fits = shorter_BTC.rank() == 3 && longer_BTC.rank() == 3 && longer_BTC.dim(0) == shorter_BTC.dim(0) &&
              longer_BTC.dim(1) == shorter_BTC.dim(1) + 1 && longer_BTC.dim(2) == shorter_BTC.dim(2) &&
              longer_BTC.dtype() == shorter_BTC.dtype();
  SINK_CHECK(fits, tag,
             "expected (B, T, C) and (B, 1 + T, C) of one type, got " + shorter_BTC.str() + " and " + longer_BTC.str());
}

void check_row(const char* tag, const Tensor& x_BTC, const Tensor& row_1C) {
  bool fits = row_1C.shape() == Shape{1, x_BTC.dim(2)} && row_1C.dtype() == x_BTC.dtype() &&
              (row_1C.dtype() == DType::F32 || row_1C.dtype() == DType::F64);
  SINK_CHECK(fits, tag,
             "expected (B, T, C) and a row (1, C), both f32 or both f64, got " + x_BTC.str() + " and " + row_1C.str());
}

// f(zero of the type, first sequence, last sequence) over the batch
template <class F>
void for_sequences(const Tensor& x_BTC, F&& f) {
  std::int64_t row_size = std::max<std::int64_t>(1, x_BTC.dim(1) * x_BTC.dim(2));
  with_real(x_BTC.dtype(), [&](auto zero) {
    parallel_chunks(x_BTC.dim(0), std::max<std::int64_t>(1, (1 << 14) / row_size),
                    [&](std::int64_t begin, std::int64_t end) { f(zero, begin, end); });
  });
}

}  // namespace

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  check("prepend", x_BTC, y_BTC);
  check_row("prepend", x_BTC, row_1C);
  for_sequences(x_BTC, [&](auto zero, std::int64_t begin, std::int64_t end) {
    using R = decltype(zero);
    ref::prepend(x_BTC.data<R>(), row_1C.data<R>(), y_BTC.data<R>(), x_BTC.dim(1), x_BTC.dim(2), begin, end);
  });
}

void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  check("prepend_backward", dx_BTC, dy_BTC);
  check_row("prepend_backward", dx_BTC, drow_1C);
  drop_first(dy_BTC, dx_BTC);
  with_real(dy_BTC.dtype(), [&](auto zero) {
    using R = decltype(zero);
    if constexpr (!std::is_same_v<R, bf16>)  // refused above
      parallel_chunks(dx_BTC.dim(2), 16, [&](std::int64_t begin, std::int64_t end) {
        ref::prepend_backward(dy_BTC.data<R>(), drow_1C.data<R>(), dx_BTC.dim(0), dx_BTC.dim(1), dx_BTC.dim(2), begin,
                              end, accumulate_drow);
      });
  });
}

void drop_first(const Tensor& x_BTC, Tensor& y_BTC) {
  check("drop_first", y_BTC, x_BTC);
  for_sequences(y_BTC, [&](auto zero, std::int64_t begin, std::int64_t end) {
    using R = decltype(zero);
    ref::drop_first(x_BTC.data<R>(), y_BTC.data<R>(), y_BTC.dim(1), y_BTC.dim(2), begin, end);
  });
}

void drop_first_backward(const Tensor& dy_BTC, Tensor& dx_BTC) {
  check("drop_first_backward", dy_BTC, dx_BTC);
  for_sequences(dy_BTC, [&](auto zero, std::int64_t begin, std::int64_t end) {
    using R = decltype(zero);
    ref::drop_first_backward(dy_BTC.data<R>(), dx_BTC.data<R>(), dy_BTC.dim(1), dy_BTC.dim(2), begin, end);
  });
}

}  // namespace sink
