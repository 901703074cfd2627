#include "engine/ops/layer_norm/layer_norm.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/check_sum.h"
#include "engine/ops/layer_norm/layer_norm_cpu.h"
#include "engine/ops/layer_norm/layer_norm_cuda.h"
#include "engine/ops/layer_norm/layer_norm_ref.h"

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
struct Widened<const LayerNormGradient> {
  Widened<Tensor> grad;
  LayerNormGradient gradient;
  explicit Widened(const LayerNormGradient& given) : grad(given.grad), gradient{grad.argument(), given.accumulate} {}
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
