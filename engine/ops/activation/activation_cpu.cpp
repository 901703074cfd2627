// CPU backend: elementwise functions in F32 and BF16, computed in float.
#include "engine/ops/activation/activation.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kRows = 8;  // the fewest of a thread
// Where rows mean nothing, they are blocks of this many elements, and threads get whole ones, so that no element moves
// between the vector code of a loop and its remainder, which round differently: the same bits for any number of
// threads.
constexpr std::int64_t kBlock = 1 << 10;

// Flat: a call that is left would keep these loops from becoming vector code.
template <class F, class X>
[[gnu::flatten]] void forward_row(F f, const X* x, X* y, std::int64_t N) {
#pragma omp simd
  for (std::int64_t n = 0; n < N; ++n) store(y[n], activated<float>(f, x + n, N));
}

template <class F, class X>
[[gnu::flatten]] void backward_row(F f, const X* dy, const X* x, X* dx, std::int64_t N) {
#pragma omp simd
  for (std::int64_t n = 0; n < N; ++n) activated_backward(f, float(dy[n]), x + n, dx + n, N);
}

// row(first element of y, first element of x, how many of y, zero of y's type), on all threads.
template <class F, class Row>
void for_rows(const Tensor& y, Row&& row) {
  const std::int64_t N = kInputsOf<F> == 1 ? kBlock : y.dim(-1);
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    parallel_chunks((y.size() + N - 1) / N, kRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) row(r * N, r * kInputsOf<F> * N, std::min(N, y.size() - r * N), zero);
    });
  });
}

}  // namespace

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y, F f) {
  for_rows<F>(y, [&]<class X>(std::int64_t first_y, std::int64_t first_x, std::int64_t N, X) {
    forward_row(f, x.data<X>() + first_x, y.data<X>() + first_y, N);
  });
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx, F f) {
  for_rows<F>(dy, [&]<class X>(std::int64_t first_y, std::int64_t first_x, std::int64_t N, X) {
    backward_row(f, dy.data<X>() + first_y, x.data<X>() + first_x, dx.data<X>() + first_x, N);
  });
}

SINK_ACTIVATION_FUNCTIONS(SINK_COMPILE_ACTIVATION)

}  // namespace sink::cpu
