// Reference: the short convolution in double.
#include "engine/ops/short_convolution/short_convolution.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/short_convolution/short_convolution_math.h"

namespace sink::ref {

void short_convolution(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE) {
  const std::int64_t B = x_BTE.dim(0), T = x_BTE.dim(1), E = x_BTE.dim(2), K = w_EK.dim(1);
  const ConvolutionOperands<double, double> operands{
      x_BTE.data<double>(), before_BTE.defined() ? before_BTE.data<double>() : nullptr, w_EK.data<double>(), T, E, K};
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t e = 0; e < E; ++e) y_BTE.data<double>()[(b * T + t) * E + e] = operands.sum(b, t, e, false);
}

void short_convolution_backward(const Tensor& dy_BTE, const Tensor& x_BTE, const Tensor& w_EK, Tensor& dx_BTE,
                                Tensor& dw_EK, bool accumulate) {
  const std::int64_t B = x_BTE.dim(0), T = x_BTE.dim(1), E = x_BTE.dim(2), K = w_EK.dim(1);
  const double* dy = dy_BTE.data<double>();
  const ConvolutionOperands<double, double> of_dy{dy, nullptr, w_EK.data<double>(), T, E, K},
      of_x{x_BTE.data<double>(), nullptr, w_EK.data<double>(), T, E, K};
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t e = 0; e < E; ++e) dx_BTE.data<double>()[(b * T + t) * E + e] = of_dy.sum(b, t, e, true);
  for (std::int64_t e = 0; e < E; ++e)
    for (std::int64_t k = 0; k < K; ++k) {
      double& dw = dw_EK.data<double>()[e * K + k];
      dw = (accumulate ? dw : 0) + weight_gradient(of_x, dy, B, e, k);
    }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_convolution(const char* op, const Tensor& x, const Tensor& before, const Tensor& w) {
  const bool fits = x.rank() == 3 && w.rank() == 2 && w.dim(0) == x.dim(2) && w.dim(1) >= 1 &&
                    w.dtype() == accumulate_type(x.dtype());
  SINK_CHECK(fits, op,
             "expected x (B, T, E) and w (E, K) of f32 (f64 for f64), K from 1: x is " + x.str() + ", w is " + w.str());
  if (before.defined()) check_like(op, "before", before, x.new_empty({x.dim(0), w.dim(1) - 1, x.dim(2)}, x.dtype()));
}

}  // namespace

void short_convolution(const Tensor& x_BTE, const Tensor& before_BTE, const Tensor& w_EK, Tensor& y_BTE) {
  check_convolution("short_convolution", x_BTE, before_BTE, w_EK);
  check_like("short_convolution", "y", y_BTE, x_BTE);
  SINK_SELECT(x_BTE, short_convolution)(x_BTE, before_BTE, w_EK, y_BTE);
}

void short_convolution_backward(const Tensor& dy_BTE, const Tensor& x_BTE, const Tensor& w_EK, Tensor& dx_BTE,
                                Tensor& dw_EK, bool accumulate) {
  check_convolution("short_convolution_backward", x_BTE, {}, w_EK);
  check_like("short_convolution_backward", "dy", dy_BTE, x_BTE);
  check_like("short_convolution_backward", "dx", dx_BTE, x_BTE);
  check_like("short_convolution_backward", "dw", dw_EK, w_EK);
  SINK_SELECT(x_BTE, short_convolution_backward)(dy_BTE, x_BTE, w_EK, dx_BTE, dw_EK, accumulate);
}

}  // namespace sink
