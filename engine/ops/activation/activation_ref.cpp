// Reference: elementwise functions in double.
#include "engine/ops/activation/activation.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"

namespace sink::ref {

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y, F f) {
  const std::int64_t N = row_width<F>(y);
  for (std::int64_t row = 0; row * N < y.size(); ++row)
    for (std::int64_t n = 0; n < N; ++n)
      y.data<double>()[row * N + n] = activated<double>(f, x.data<double>() + row * kInputsOf<F> * N + n, N);
}

// Forward was: y = f(x).
template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx, F f) {
  const std::int64_t N = row_width<F>(dy);
  for (std::int64_t row = 0; row * N < dy.size(); ++row)
    for (std::int64_t n = 0; n < N; ++n) {
      const std::int64_t i = row * kInputsOf<F> * N + n;
      activated_backward(f, dy.data<double>()[row * N + n], x.data<double>() + i, dx.data<double>() + i, N);
    }
}

SINK_ACTIVATION_FUNCTIONS(SINK_COMPILE_ACTIVATION)

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

template <class F>
void check_activation(const char* tag, const char* name, const Tensor& x, const Tensor& y, const F& f) {
  if constexpr (std::same_as<F, SoftCap>)
    SINK_CHECK(f.cap > 0, tag, "expected a cap above 0, got " + std::to_string(f.cap));
  if constexpr (kInputsOf<F> == 1) return check_like(tag, name, y, x);
  Shape expected = y.shape();
  if (y.rank() > 0) expected[-1] *= kInputsOf<F>;
  SINK_CHECK(y.rank() > 0 && x.shape() == expected && x.dtype() == y.dtype(), tag,
             "expected (..., 2N) and (..., N) of one type: gate_up is " + x.str() + ", " + name + " is " + y.str());
}

}  // namespace

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y, F f) {
  check_activation("activation", "y", x, y, f);
  if (y.size() > 0) SINK_SELECT(x, activation<F>)(x, y, f);
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx, F f) {
  check_activation("activation_backward", "dy", x, dy, f);
  check_like("activation_backward", "dx", dx, x);
  if (dy.size() > 0) SINK_SELECT(x, activation_backward<F>)(dy, x, dx, f);
}

SINK_ACTIVATION_FUNCTIONS(SINK_COMPILE_ACTIVATION)

}  // namespace sink
