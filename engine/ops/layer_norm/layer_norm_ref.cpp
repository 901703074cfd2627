// Reference: layer norm in double.
#include "engine/ops/layer_norm/layer_norm.h"

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/check_sum.h"
#include "engine/ops/reference_row.h"

namespace sink::ref {

struct LayerNormRow {
  double mean, r;
};

// Breakpoint function: one row of x (C elements) to one row of y.
[[gnu::noinline]] LayerNormRow layer_norm_row([[maybe_unused]] std::int64_t row, Row x_C, Row gain_C, Row bias_C,
                                              std::span<double> y_C, double epsilon) {
  std::size_t C = x_C.size();
  double mean = 0, variance = 0;
  for (std::size_t c = 0; c < C; ++c) mean += x_C[c] / static_cast<double>(C);
  for (std::size_t c = 0; c < C; ++c) variance += (x_C[c] - mean) * (x_C[c] - mean) / static_cast<double>(C);
  double r = 1 / std::sqrt(variance + epsilon);
  for (std::size_t c = 0; c < C; ++c) y_C[c] = (x_C[c] - mean) * r * gain_C[c] + bias_C[c];
  return {mean, r};
}

// Forward was: y_c = x^_c g_c + b_c, x^_c = (x_c - mean) r. Adds to the gradients.
[[gnu::noinline]] void layer_norm_row_backward([[maybe_unused]] std::int64_t row, Row dy_C, Row x_C, Row gain_C,
                                               LayerNormRow saved, std::span<double> dx_C, std::span<double> dgain_C,
                                               std::span<double> dbias_C) {
  auto [mean, r] = saved;
  std::size_t C = x_C.size();
  double shift = 0, projection = 0;  // mean_k(dx^_k), mean_k(dx^_k x^_k), dx^_k = dy_k g_k
  for (std::size_t c = 0; c < C; ++c) {
    shift += dy_C[c] * gain_C[c] / static_cast<double>(C);
    projection += dy_C[c] * gain_C[c] * (x_C[c] - mean) * r / static_cast<double>(C);
  }
  for (std::size_t c = 0; c < C; ++c) {
    dx_C[c] += r * (dy_C[c] * gain_C[c] - shift - (x_C[c] - mean) * r * projection);
    dgain_C[c] += dy_C[c] * (x_C[c] - mean) * r;
    dbias_C[c] += dy_C[c];
  }
}

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon) {
  std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row) {
    LayerNormRow saved =
        layer_norm_row(row, row_of(x, row, C), row_of(gain_C, 0, C), row_of(bias_C, 0, C), row_of(y, row, C), epsilon);
    mean.data<double>()[row] = saved.mean;
    r.data<double>()[row] = saved.r;
  }
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C) {
  for (const LayerNormGradient* gradient : {&dx, &dgain_C, &dbias_C})
    if (!gradient->accumulate) gradient->grad.fill(0);
  std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row)
    layer_norm_row_backward(row, row_of(dy, row, C), row_of(x, row, C), row_of(gain_C, 0, C),
                            {mean.data<double>()[row], r.data<double>()[row]}, row_of(dx.grad, row, C),
                            row_of(dgain_C.grad, 0, C), row_of(dbias_C.grad, 0, C));
}

void add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
                    Tensor& mean, Tensor& r, double epsilon) {
  for (std::int64_t i = 0; i < u.size(); ++i) u.data<double>()[i] = a.data<double>()[i] + b.data<double>()[i];
  ref::layer_norm(u, gain_C, bias_C, y, mean, r, epsilon);
}

void add_layer_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C,
                             const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db,
                             const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C) {
  if (du.defined()) da.copy_from(du);
  ref::layer_norm_backward(dy, u, gain_C, mean, r, {da, du.defined()}, dgain_C, dbias_C);
  if (db.defined()) db.copy_from(da);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_layer_norm(const char* tag, const Tensor& x, const Tensor& gain_C, const Tensor& y, const Tensor& mean,
                      const Tensor& r) {
  std::int64_t C = x.rank() ? x.dim(-1) : 0;
  std::int64_t rows = C ? x.size() / C : 0;
  SINK_CHECK(gain_C.size() == C && y.shape() == x.shape() && mean.size() == rows && r.size() == rows, tag,
             "the last axis of x must equal the size of the gain, and mean and r hold one number per row: x is " +
                 x.str() + ", gain is " + gain_C.str() + ", y is " + y.str() + ", mean is " + mean.str() + ", r is " +
                 r.str());
  bool types_fit = x.dtype() == gain_C.dtype() && mean.dtype() == x.dtype() && r.dtype() == x.dtype() &&
                   x.dtype() == accumulate_type(x.dtype()) &&
                   (y.dtype() == x.dtype() || (y.dtype() == DType::BF16 && x.dtype() == DType::F32));
  SINK_CHECK(types_fit, tag,
             "x, gain, mean and r must be f32 or f64, y of that type or bf16: x is " + x.str() + ", gain is " +
                 gain_C.str() + ", mean is " + mean.str() + ", r is " + r.str() + ", y is " + y.str());
}

}  // namespace

template <>
struct UpcastF64<const LayerNormGradient> {
  UpcastF64<Tensor> grad;
  LayerNormGradient gradient;
  explicit UpcastF64(const LayerNormGradient& given) : grad(given.grad), gradient{grad.argument(), given.accumulate} {}
  const LayerNormGradient& argument() const { return gradient; }
  void round_back() { grad.round_back(); }
};

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon) {
  check_layer_norm("layer_norm", x, gain_C, y, mean, r);
  check_like("layer_norm", "bias", bias_C, gain_C);
  SINK_SELECT(x, layer_norm)(x, gain_C, bias_C, y, mean, r, epsilon);
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C) {
  check_layer_norm("layer_norm_backward", x, gain_C, dy, mean, r);
  check_like("layer_norm_backward", "dx", dx.grad, x);
  check_like("layer_norm_backward", "dgain", dgain_C.grad, gain_C);
  check_like("layer_norm_backward", "dbias", dbias_C.grad, gain_C);
  SINK_SELECT(x, layer_norm_backward)(dy, x, gain_C, mean, r, dx, dgain_C, dbias_C);
}

void add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
                    Tensor& mean, Tensor& r, double epsilon) {
  check_sum("add_layer_norm", a, b, u);
  check_layer_norm("add_layer_norm", u, gain_C, y, mean, r);
  check_like("add_layer_norm", "bias", bias_C, gain_C);
  SINK_SELECT(u, add_layer_norm)(a, b, gain_C, bias_C, u, y, mean, r, epsilon);
}

void add_layer_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C,
                             const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db,
                             const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C) {
  check_layer_norm("add_layer_norm_backward", u, gain_C, dy, mean, r);
  check_sum_gradient("add_layer_norm_backward", u, du, da, db);
  check_like("add_layer_norm_backward", "dgain", dgain_C.grad, gain_C);
  check_like("add_layer_norm_backward", "dbias", dbias_C.grad, gain_C);
  SINK_SELECT(u, add_layer_norm_backward)(dy, du, u, gain_C, mean, r, da, db, dgain_C, dbias_C);
}

}  // namespace sink
