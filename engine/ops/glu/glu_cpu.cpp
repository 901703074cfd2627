// CPU backend: the gated unit in F32 and BF16, computed in float.
#include "engine/ops/glu/glu.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kGluRows = 8;

template <class Function, class X>
void glu_row(const X* gate_F, const X* up_F, X* y_F, std::int64_t F) {
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) store(y_F[f], Function::f(float(gate_F[f])) * float(up_F[f]));
}

template <class Function, class X>
void glu_row_backward(const X* dy_F, const X* gate_F, const X* up_F, X* dgate_F, X* dup_F, std::int64_t F) {
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) {
    float dy = float(dy_F[f]), gate = float(gate_F[f]), up = float(up_F[f]);
    store(dup_F[f], dy * Function::f(gate));
    store(dgate_F[f], dy * up * Function::df(gate));
  }
}

}  // namespace

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y) {
  std::int64_t F = y.dim(-1);
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using X = decltype(zero);
    const X* in = gate_up.data<X>();
    X* out = y.data<X>();
    parallel_chunks(y.size() / std::max<std::int64_t>(F, 1), kGluRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        glu_row<Function>(in + row * 2 * F, in + row * 2 * F + F, out + row * F, F);
    });
  });
}

template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  std::int64_t F = dy.dim(-1);
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    using X = decltype(zero);
    const X* in = gate_up.data<X>();
    X* out = dgate_up.data<X>();
    parallel_chunks(dy.size() / std::max<std::int64_t>(F, 1), kGluRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        glu_row_backward<Function>(dy.data<X>() + row * F, in + row * 2 * F, in + row * 2 * F + F, out + row * 2 * F,
                                   out + row * 2 * F + F, F);
    });
  });
}

#define SINK_INSTANTIATE(F)                     \
  template void glu<F>(const Tensor&, Tensor&); \
  template void glu_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)
#undef SINK_INSTANTIATE

}  // namespace sink::cpu
