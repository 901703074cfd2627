// CUDA backend: sums in F32 and BF16, added in float.
#include "engine/ops/add/add.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

// R is what is added in.
template <int N, class R, class A, class B>
void add_by(std::int64_t count, const A* a_i, const B* b_i, A* y_i) {
  for_each_element(count / N, [=] __device__(std::int64_t group) {
    std::int64_t i = group * N;
    auto a = load_vector<N>(a_i + i);
    auto b = load_vector<N>(b_i + i);
    Vector<R, N> y;
    for (int n = 0; n < N; ++n) y[n] = static_cast<R>(a[n]) + static_cast<R>(b[n]);
    store_vector(y_i + i, y);
  });
}

template <class R, class A, class B>
void add_as(const Tensor& a, const Tensor& b, Tensor& y) {
  const A* a_i = a.device_data<A>();
  const B* b_i = b.device_data<B>();
  A* y_i = y.device_data<A>();
  constexpr int kWidth = kVector<A, B>;
  with_vectors<kWidth>(in_vectors<kWidth>(a.size(), a_i, b_i, y_i),
                       [&](auto width) { add_by<decltype(width)::value, R>(a.size(), a_i, b_i, y_i); });
}

template <class X>
void add_rows_as(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC) {
  std::int64_t TC = x_BTC.dim(1) * x_BTC.dim(2);
  const X *x = x_BTC.device_data<X>(), *p = p_TC.device_data<X>();
  X* y = y_BTC.device_data<X>();
  for_each_element(x_BTC.size(), [=] __device__(std::int64_t i) {
    store(y[i], static_cast<float>(x[i]) + static_cast<float>(p[i % TC]));
  });
}

template <int N, class A>
void scale_by(std::int64_t count, const float* factor, A* a_i) {
  for_each_element(count / N, [=] __device__(std::int64_t group) {
    if (*factor == 1) return;  // neither read nor written
    auto a = load_floats<N>(a_i + group * N);
    for (int n = 0; n < N; ++n) a[n] *= *factor;
    store_vector(a_i + group * N, a);
  });
}

template <class A>
void scale_as(Tensor& a, const Tensor& factor) {
  A* a_i = a.device_data<A>();
  with_vectors<kVector<A>>(in_vectors<kVector<A>>(a.size(), a_i), [&](auto width) {
    scale_by<decltype(width)::value>(a.size(), factor.device_data<float>(), a_i);
  });
}

}  // namespace

void add(const Tensor& a, const Tensor& b, Tensor& y) {
  if (a.dtype() == DType::F64) return add_as<double, double, double>(a, b, y);
  if (a.dtype() == b.dtype())
    return with_real<float, bf16>(a.dtype(),
                                  [&](auto zero) { add_as<float, decltype(zero), decltype(zero)>(a, b, y); });
  add_as<float, float, bf16>(a, b, y);
}

void add_rows(const Tensor& x_BTC, const Tensor& p_TC, Tensor& y_BTC) {
  with_real<float, bf16>(x_BTC.dtype(), [&](auto zero) { add_rows_as<decltype(zero)>(x_BTC, p_TC, y_BTC); });
}

// The batch is summed in order.
void add_rows_backward(const Tensor& dy_BTC, Tensor& dp_TC, bool accumulate) {
  std::int64_t B = dy_BTC.dim(0), TC = dy_BTC.dim(1) * dy_BTC.dim(2);
  if (!accumulate && dp_TC.size() > TC) dp_TC.fill(0);  // rows that no position used
  const float* dy = dy_BTC.device_data<float>();
  float* dp = dp_TC.device_data<float>();
  for_each_element(TC, [=] __device__(std::int64_t i) {
    float sum = accumulate ? dp[i] : 0;
    for (std::int64_t b = 0; b < B; ++b) sum += dy[b * TC + i];
    dp[i] = sum;
  });
}

void scale(Tensor& a, const Tensor& factor) {
  with_real<float, bf16>(a.dtype(), [&](auto zero) { scale_as<decltype(zero)>(a, factor); });
}

}  // namespace sink::cuda
