#include "engine/ops/add/add.h"

#include "engine/ops/add/add_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

}  // namespace

void add(const Tensor& a, const Tensor& b, Tensor& y) {
  SINK_CHECK(a.shape() == b.shape() && a.shape() == y.shape() && a.dtype() == y.dtype(), "add",
             "a, b and y must have one shape, a and y one element type: a is " + a.str() + ", b is " + b.str() +
                 ", y is " + y.str());
  with_real(a.dtype(), [&](auto a_zero) {
    with_real(b.dtype(), [&](auto b_zero) {
      using A = decltype(a_zero);
      using B = decltype(b_zero);
      if constexpr (std::is_same_v<A, B> || (std::is_same_v<A, float> && std::is_same_v<B, bf16>))
        parallel_chunks(a.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
          ref::add(a.data<A>(), b.data<B>(), y.data<A>(), begin, end);
        });
      else
        fail("add", "cannot add " + b.str() + " to " + a.str());
    });
  });
}

void add_into(Tensor& a, const Tensor& b) { add(a, b, a); }

void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC) {
  SINK_CHECK(x_BTC.rank() == 3 && p_TC.rank() == 2 && p_TC.dim(0) >= x_BTC.dim(1) && p_TC.dim(1) == x_BTC.dim(2) &&
                 y_BTC.shape() == x_BTC.shape() && x_BTC.dtype() == p_TC.dtype(),
             "add_rows",
             "the table needs a row for every position: x is " + x_BTC.str() + ", p is " + p_TC.str() + ", y is " +
                 y_BTC.str());
  std::int64_t TC = x_BTC.dim(1) * x_BTC.dim(2);
  with_real(x_BTC.dtype(), [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(x_BTC.dim(0), std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(TC, 1)),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t b = begin; b < end; ++b)
                        ref::add(x_BTC.data<R>() + b * TC, p_TC.data<R>(), y_BTC.data<R>() + b * TC, 0, TC);
                    });
  });
}

void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate) {
  bool fits = dy_BTC.rank() == 3 && dp_TC.rank() == 2 && dp_TC.dim(0) >= dy_BTC.dim(1) &&
              dp_TC.dim(1) == dy_BTC.dim(2) && dp_TC.dtype() == dy_BTC.dtype();
  SINK_CHECK(fits, "add_rows_backward",
             "the table needs a row for every position: dy is " + dy_BTC.str() + ", dp is " + dp_TC.str());
  std::int64_t TC = dy_BTC.dim(1) * dy_BTC.dim(2);
  if (!accumulate && dp_TC.size() > TC) dp_TC.fill(0);  // rows that no position used
  with_real(dy_BTC.dtype(), [&](auto zero) {
    using R = decltype(zero);
    if constexpr (!std::is_same_v<R, bf16>)
      parallel_chunks(TC, 1 << 10, [&](std::int64_t begin, std::int64_t end) {
        ref::add_rows_backward(dy_BTC.data<R>(), dp_TC.data<R>(), dy_BTC.dim(0), TC, begin, end, accumulate);
      });
    else
      fail("add_rows_backward", "sums over the batch are taken in f32 or f64, got " + dy_BTC.str());
  });
}

void scale(Tensor& a, double factor) {
  with_real(a.dtype(), [&](auto zero) {
    using R = decltype(zero);
    R* data = a.data<R>();
    parallel_chunks(a.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<R, double>)
          data[i] *= factor;
        else
          data[i] = R(static_cast<float>(data[i]) * static_cast<float>(factor));
      }
    });
  });
}

}  // namespace sink
