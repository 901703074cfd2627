// CPU backend: elementwise functions in F32 and BF16, computed in float.
#include "engine/ops/activation/activation.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

// Threads get whole blocks of this many elements, so that no element moves between the vector code of a loop and its
// remainder, which round differently: the same bits for any number of threads.
constexpr std::int64_t kBlock = 1 << 10;

// f(begin, end) over the elements of x.
template <class Range>
void parallel_elements(const Tensor& x, Range&& f) {
  parallel_chunks((x.size() + kBlock - 1) / kBlock, 8,
                  [&](std::int64_t begin, std::int64_t end) { f(begin * kBlock, std::min(x.size(), end * kBlock)); });
}

template <class F, class X>
void apply(const X* x, X* y, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) store(y[i], F::f(float(x[i])));
}

template <class F, class X>
void apply_backward(const X* dy, const X* x, X* dx, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) store(dx[i], float(dy[i]) * F::df(float(x[i])));
}

}  // namespace

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_elements(x, [&](std::int64_t begin, std::int64_t end) { apply<F>(x.data<X>(), y.data<X>(), begin, end); });
  });
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_elements(x, [&](std::int64_t begin, std::int64_t end) {
      apply_backward<F>(dy.data<X>(), x.data<X>(), dx.data<X>(), begin, end);
    });
  });
}

#define SINK_INSTANTIATE(F)                            \
  template void activation<F>(const Tensor&, Tensor&); \
  template void activation_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)
#undef SINK_INSTANTIATE

}  // namespace sink::cpu
