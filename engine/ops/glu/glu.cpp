#include "engine/ops/glu/glu.h"

#include "engine/ops/glu/glu_ref.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kGrainRows = 8;

void check(const char* tag, const char* name, const Tensor& gate_up, const Tensor& y) {
  Shape expected = y.shape();
  if (y.rank() > 0) expected[-1] *= 2;
  SINK_CHECK(
      y.rank() > 0 && gate_up.shape() == expected && gate_up.dtype() == y.dtype(), tag,
      "expected (..., 2F) and (..., F) of one type: gate_up is " + gate_up.str() + ", " + name + " is " + y.str());
}

}  // namespace

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y) {
  check("glu", "y", gate_up, y);
  std::int64_t F = y.dim(-1);
  with_compute_type(y.dtype(), [&](auto zero, auto compute_zero) {
    using X = decltype(zero);
    using R = decltype(compute_zero);
    const X* in = gate_up.data<X>();
    X* out = y.data<X>();
    parallel_chunks(y.size() / std::max<std::int64_t>(F, 1), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        ref::glu_row<Function, R>(in + row * 2 * F, in + row * 2 * F + F, out + row * F, F);
    });
  });
}

template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  check("glu_backward", "dy", gate_up, dy);
  SINK_CHECK(dgate_up.shape() == gate_up.shape() && dgate_up.dtype() == gate_up.dtype(), "glu_backward",
             "expected gradients like gate_up, " + gate_up.str() + ", got " + dgate_up.str());
  std::int64_t F = dy.dim(-1);
  with_compute_type(dy.dtype(), [&](auto zero, auto compute_zero) {
    using X = decltype(zero);
    using R = decltype(compute_zero);
    const X* in = gate_up.data<X>();
    X* out = dgate_up.data<X>();
    parallel_chunks(dy.size() / std::max<std::int64_t>(F, 1), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        ref::glu_row_backward<Function, R>(dy.data<X>() + row * F, in + row * 2 * F, in + row * 2 * F + F,
                                           out + row * 2 * F, out + row * 2 * F + F, F);
    });
  });
}

#define SINK_INSTANTIATE(F)                     \
  template void glu<F>(const Tensor&, Tensor&); \
  template void glu_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)

}  // namespace sink
