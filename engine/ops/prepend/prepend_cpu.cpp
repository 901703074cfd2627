// CPU backend: a row more and a row less in F32 and BF16.
#include "engine/ops/prepend/prepend.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

// f(b) for the sequences of x, on all threads.
template <class F>
void for_sequences(const Tensor& x_BTC, F&& f) {
  std::int64_t sequence_size = std::max<std::int64_t>(1, x_BTC.dim(1) * x_BTC.dim(2));
  parallel_chunks(x_BTC.dim(0), std::max<std::int64_t>(1, (1 << 14) / sequence_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t b = begin; b < end; ++b) f(b);
                  });
}

}  // namespace

void prepend(const Tensor& x_BTC, const Tensor& row_1C, Tensor& y_BTC) {
  std::int64_t C = x_BTC.dim(2), TC = x_BTC.dim(1) * C;
  with_real<float, bf16>(x_BTC.dtype(), [&]<class X>(X) {
    for_sequences(x_BTC, [&](std::int64_t b) {
      X* y = y_BTC.data<X>() + b * (C + TC);
      if (row_1C.defined())
        std::copy_n(row_1C.data<X>(), C, y);
      else
        std::fill_n(y, C, X{});
      std::copy_n(x_BTC.data<X>() + b * TC, TC, y + C);
    });
  });
}

// A range of columns of the row's gradient belongs to one thread.
void prepend_backward(const Tensor& dy_BTC, Tensor& dx_BTC, Tensor& drow_1C, bool accumulate_drow) {
  cpu::drop_first(dy_BTC, dx_BTC);
  const float* dy = dy_BTC.data<float>();
  float* drow = drow_1C.data<float>();
  std::int64_t B = dx_BTC.dim(0), T = dx_BTC.dim(1), C = dx_BTC.dim(2);
  parallel_chunks(C, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      if (!accumulate_drow) drow[c] = 0;
      for (std::int64_t b = 0; b < B; ++b) drow[c] += dy[b * (1 + T) * C + c];
    }
  });
}

void drop_first(const Tensor& x_BTC, Tensor& y_BTC) {
  std::int64_t C = y_BTC.dim(2), TC = y_BTC.dim(1) * C;
  with_real<float, bf16>(x_BTC.dtype(), [&](auto zero) {
    using X = decltype(zero);
    for_sequences(
        y_BTC, [&](std::int64_t b) { std::copy_n(x_BTC.data<X>() + b * (C + TC) + C, TC, y_BTC.data<X>() + b * TC); });
  });
}

}  // namespace sink::cpu
