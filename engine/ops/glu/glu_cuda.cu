// On the CUDA device: the gated unit in F32 and BF16, computed in float.
#include "engine/ops/glu/glu.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

// Rows of y have G groups of N numbers. Group g has its gates at group g / G * 2G + g % G of gate_up, which is
// g / G * G + g, and its numbers up G groups behind that.
template <int N, class Function, class X>
void forward_by(std::int64_t count, std::int64_t G, const X* in, X* out) {
  for_each_element(count, [=] __device__(std::int64_t g) {
    std::int64_t at = g / G * G + g;
    auto gate = load_floats<N>(in + at * N), up = load_floats<N>(in + (at + G) * N);
    for (int n = 0; n < N; ++n) up[n] *= Function::f(gate[n]);
    store_vector(out + g * N, up);
  });
}

template <int N, class Function, class X>
void backward_by(std::int64_t count, std::int64_t G, const X* dy_i, const X* in, X* out) {
  for_each_element(count, [=] __device__(std::int64_t g) {
    std::int64_t at = g / G * G + g;
    auto dy = load_floats<N>(dy_i + g * N), gate = load_floats<N>(in + at * N), up = load_floats<N>(in + (at + G) * N);
    for (int n = 0; n < N; ++n) {
      up[n] = dy[n] * up[n] * Function::df(gate[n]);
      gate[n] = dy[n] * Function::f(gate[n]);
    }
    store_vector(out + at * N, up);
    store_vector(out + (at + G) * N, gate);
  });
}

template <class Function, class X>
void forward(const Tensor& gate_up, Tensor& y) {
  std::int64_t F = y.dim(-1);
  const X* in = gate_up.device_data<X>();
  X* out = y.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(F, in, out), [&](auto width) {
    constexpr int N = decltype(width)::value;
    forward_by<N, Function>(y.size() / N, F / N, in, out);
  });
}

template <class Function, class X>
void backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  std::int64_t F = dy.dim(-1);
  const X *dy_i = dy.device_data<X>(), *in = gate_up.device_data<X>();
  X* out = dgate_up.device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(F, dy_i, in, out), [&](auto width) {
    constexpr int N = decltype(width)::value;
    backward_by<N, Function>(dy.size() / N, F / N, dy_i, in, out);
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
