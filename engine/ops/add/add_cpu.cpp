// CPU backend: sums in F32 and BF16, added in float.
#include "engine/ops/add/add.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

template <class A, class B>
void add_range(const A* a, const B* b, A* y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) store(y[i], a[i] + b[i]);  // bf16 adds as float
}

// A fixed order over the batch keeps results reproducible.
void sum_rows(const float* dy_BTC, float* dp_TC, std::int64_t B, std::int64_t TC, std::int64_t begin, std::int64_t end,
              bool accumulate) {
  if (!accumulate)
    for (std::int64_t i = begin; i < end; ++i) dp_TC[i] = 0;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t i = begin; i < end; ++i) dp_TC[i] += dy_BTC[b * TC + i];
}

}  // namespace

void add(const Tensor& a, const Tensor& b, Tensor& y) {
  with_real<float, bf16>(a.dtype(), [&](auto a_zero) {
    with_real<float, bf16>(b.dtype(), [&](auto b_zero) {
      using A = decltype(a_zero);
      using B = decltype(b_zero);
      if constexpr (std::is_same_v<A, B> || std::is_same_v<A, float>)
        parallel_chunks(a.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
          add_range(a.data<A>(), b.data<B>(), y.data<A>(), begin, end);
        });
    });
  });
}

void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC) {
  std::int64_t TC = x_BTC.dim(1) * x_BTC.dim(2);
  with_real<float, bf16>(x_BTC.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(x_BTC.dim(0), std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(TC, 1)),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t b = begin; b < end; ++b)
                        add_range(x_BTC.data<X>() + b * TC, p_TC.data<X>(), y_BTC.data<X>() + b * TC, 0, TC);
                    });
  });
}

void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate) {
  std::int64_t TC = dy_BTC.dim(1) * dy_BTC.dim(2);
  if (!accumulate && dp_TC.size() > TC) dp_TC.fill(0);  // rows that no position used
  parallel_chunks(TC, 1 << 10, [&](std::int64_t begin, std::int64_t end) {
    sum_rows(dy_BTC.data<float>(), dp_TC.data<float>(), dy_BTC.dim(0), TC, begin, end, accumulate);
  });
}

void scale(Tensor& a, const Tensor& factor_1) {
  float factor = *factor_1.data<float>();
  if (factor == 1) return;
  with_real<float, bf16>(a.dtype(), [&](auto zero) {
    using A = decltype(zero);
    A* data = a.data<A>();
    parallel_chunks(a.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) store(data[i], static_cast<float>(data[i]) * factor);
    });
  });
}

}  // namespace sink::cpu
