// CUDA backend: elementwise functions in F32 and BF16, computed in float.
#include "engine/ops/activation/activation.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

// f(first element of y, first element of x) for every N adjacent elements of y, which has rows of `width`.
template <int N, std::int64_t kInputs, class F>
void for_each_vector(std::int64_t size, std::int64_t width, F f) {
  if constexpr (kInputs == 1)
    for_each_element(size / N, [=] __device__(std::int64_t group) { f(group * N, group * N); });
  else
    for_each_in_rows(size / width, width / N, [=] __device__(std::int64_t row, int column) {
      f(row * width + column * N, row * kInputs * width + column * N);
    });
}

// The N elements from x on and, in a gated unit, from x + width on, each N in a row.
template <int N, int kInputs, class X>
__device__ void load_inputs(const X* x, std::int64_t width, float* x_N) {
  for (int input = 0; input < kInputs; ++input) {
    auto loaded = load_floats<N>(x + input * width);
    for (int n = 0; n < N; ++n) x_N[input * N + n] = loaded[n];
  }
}

template <int N, class F, class X>
void forward_by(std::int64_t size, std::int64_t width, F f, const X* x, X* y) {
  constexpr int kInputs = kInputsOf<F>;
  for_each_vector<N, kInputs>(size, width, [=] __device__(std::int64_t i_y, std::int64_t i_x) {
    float x_N[kInputs * N];
    Vector<float, N> y_N;
    load_inputs<N, kInputs>(x + i_x, width, x_N);
    for (int n = 0; n < N; ++n) y_N[n] = activated<float>(f, x_N + n, N);
    store_vector(y + i_y, y_N);
  });
}

template <int N, class F, class X>
void backward_by(std::int64_t size, std::int64_t width, F f, const X* dy, const X* x, X* dx) {
  constexpr int kInputs = kInputsOf<F>;
  for_each_vector<N, kInputs>(size, width, [=] __device__(std::int64_t i_y, std::int64_t i_x) {
    float x_N[kInputs * N], dx_N[kInputs * N];
    auto dy_N = load_floats<N>(dy + i_y);
    load_inputs<N, kInputs>(x + i_x, width, x_N);
    for (int n = 0; n < N; ++n) activated_backward(f, dy_N[n], x_N + n, dx_N + n, N);
    for (int input = 0; input < kInputs; ++input) {
      Vector<float, N> stored;
      for (int n = 0; n < N; ++n) stored[n] = dx_N[input * N + n];
      store_vector(dx + i_x + input * width, stored);
    }
  });
}

template <class F, class X>
void forward(const Tensor& x_in, Tensor& y_out, F f) {
  const std::int64_t size = y_out.size(), width = row_width<F>(y_out);
  const X* x = x_in.device_data<X>();
  X* y = y_out.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(width, x, y),
                           [&](auto N) { forward_by<decltype(N)::value>(size, width, f, x, y); });
}

template <class F, class X>
void backward(const Tensor& dy_in, const Tensor& x_in, Tensor& dx_out, F f) {
  const std::int64_t size = dy_in.size(), width = row_width<F>(dy_in);
  const X *dy = dy_in.device_data<X>(), *x = x_in.device_data<X>();
  X* dx = dx_out.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(width, dy, x, dx),
                           [&](auto N) { backward_by<decltype(N)::value>(size, width, f, dy, x, dx); });
}

}  // namespace

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y, F f) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) { forward<F, decltype(zero)>(x, y, f); });
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx, F f) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) { backward<F, decltype(zero)>(dy, x, dx, f); });
}

SINK_ACTIVATION_FUNCTIONS(SINK_COMPILE_ACTIVATION)

}  // namespace sink::cuda
