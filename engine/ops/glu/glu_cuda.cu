// CUDA backend: the gated unit in F32 and BF16, computed in float.
#include "engine/ops/glu/glu.h"

#include <algorithm>

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

// A row of gate_up has the F gates and then the F values of up; y has rows of F. Each thread takes vectors of N
// columns.
template <int N, class Function, class X>
void forward_rows(std::int64_t rows, std::int64_t F, const X* gate_up, X* y) {
  for_each_in_rows(rows, F / N, [=] __device__(std::int64_t row, int column) {
    const X* gate_N = gate_up + row * 2 * F + column * N;
    auto gate = load_floats<N>(gate_N), up = load_floats<N>(gate_N + F);
    for (int n = 0; n < N; ++n) up[n] *= Function::f(gate[n]);
    store_vector(y + row * F + column * N, up);
  });
}

template <int N, class Function, class X>
void backward_rows(std::int64_t rows, std::int64_t F, const X* dy_i, const X* gate_up, X* dgate_up) {
  for_each_in_rows(rows, F / N, [=] __device__(std::int64_t row, int column) {
    std::int64_t i = row * 2 * F + column * N;
    auto dy = load_floats<N>(dy_i + row * F + column * N);
    auto gate = load_floats<N>(gate_up + i), up = load_floats<N>(gate_up + i + F);
    Vector<float, N> dgate, dup;
    for (int n = 0; n < N; ++n) {
      dgate[n] = dy[n] * up[n] * Function::df(gate[n]);
      dup[n] = dy[n] * Function::f(gate[n]);
    }
    store_vector(dgate_up + i, dgate);
    store_vector(dgate_up + i + F, dup);
  });
}

template <class Function, class X>
void forward(const Tensor& gate_up, Tensor& y) {
  std::int64_t F = y.dim(-1);
  const X* in = gate_up.device_data<X>();
  X* out = y.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(F, in, out), [&](auto width) {
    constexpr int N = decltype(width)::value;
    forward_rows<N, Function>(y.size() / std::max<std::int64_t>(F, 1), F, in, out);
  });
}

template <class Function, class X>
void backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  std::int64_t F = dy.dim(-1);
  const X *dy_i = dy.device_data<X>(), *in = gate_up.device_data<X>();
  X* out = dgate_up.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(F, dy_i, in, out), [&](auto width) {
    constexpr int N = decltype(width)::value;
    backward_rows<N, Function>(dy.size() / std::max<std::int64_t>(F, 1), F, dy_i, in, out);
  });
}

}  // namespace

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y) {
  with_real<float, bf16>(y.dtype(), [&](auto zero) { forward<Function, decltype(zero)>(gate_up, y); });
}

template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  with_real<float, bf16>(dy.dtype(), [&](auto zero) { backward<Function, decltype(zero)>(dy, gate_up, dgate_up); });
}

#define SINK_INSTANTIATE(F)                     \
  template void glu<F>(const Tensor&, Tensor&); \
  template void glu_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)

}  // namespace sink::cuda
