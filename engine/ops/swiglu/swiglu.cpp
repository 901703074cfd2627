#include "engine/ops/swiglu/swiglu.h"

#include <type_traits>

#include "engine/ops/swiglu/swiglu_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kGrainRows = 8;

void check(const Tensor& gate_up, const Tensor& y) {
  Shape expected = y.shape();
  if (y.rank() > 0) expected[-1] *= 2;
  SINK_CHECK(y.rank() > 0 && gate_up.shape() == expected && gate_up.dtype() == y.dtype(), "swiglu",
             "expected (..., 2F) and (..., F) of one type: gate_up is " + gate_up.str() + ", y is " + y.str());
}

template <class X>
using compute_t = std::conditional_t<std::is_same_v<X, double>, double, float>;

}  // namespace

void swiglu(const Tensor& gate_up, Tensor& y) {
  check(gate_up, y);
  std::int64_t F = y.dim(-1);
  with_real(y.dtype(), [&](auto zero) {
    using X = decltype(zero);
    const X* in = gate_up.data<X>();
    X* out = y.data<X>();
    parallel_chunks(y.size() / std::max<std::int64_t>(F, 1), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        ref::swiglu_row<compute_t<X>>(in + row * 2 * F, in + row * 2 * F + F, out + row * F, F);
    });
  });
}

void swiglu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  check(gate_up, dy);
  check(dgate_up, dy);
  std::int64_t F = dy.dim(-1);
  with_real(dy.dtype(), [&](auto zero) {
    using X = decltype(zero);
    const X* in = gate_up.data<X>();
    X* out = dgate_up.data<X>();
    parallel_chunks(dy.size() / std::max<std::int64_t>(F, 1), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        ref::swiglu_row_backward<compute_t<X>>(dy.data<X>() + row * F, in + row * 2 * F, in + row * 2 * F + F,
                                               out + row * 2 * F, out + row * 2 * F + F, F);
    });
  });
}

}  // namespace sink
