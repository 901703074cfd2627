#include "engine/ops/rms_norm/rms_norm.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/check_sum.h"
#include "engine/ops/rms_norm/rms_norm_cpu.h"
#include "engine/ops/rms_norm/rms_norm_cuda.h"
#include "engine/ops/rms_norm/rms_norm_ref.h"

namespace sink {
namespace {

void check_rms_norm(const Tensor& x, const Tensor& gain_C, const Tensor& y, const Tensor& r) {
  std::int64_t C = x.rank() ? x.dim(-1) : 0;
  std::int64_t rows = C ? x.size() / C : 0;
  SINK_CHECK(gain_C.size() == C && y.shape() == x.shape() && r.size() == rows, "rms_norm",
             "the last axis of x must equal the size of the gain, and r hold one number per row: x is " + x.str() +
                 ", gain is " + gain_C.str() + ", y is " + y.str() + ", r is " + r.str());
  bool types_fit = x.dtype() == gain_C.dtype() && r.dtype() == x.dtype() && x.dtype() == accumulate_type(x.dtype()) &&
                   (y.dtype() == x.dtype() || (y.dtype() == DType::BF16 && x.dtype() == DType::F32));
  SINK_CHECK(types_fit, "rms_norm",
             "x, gain and r must be f32 or f64, y of that type or bf16: x is " + x.str() + ", gain is " + gain_C.str() +
                 ", y is " + y.str());
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  check_rms_norm(x, gain_C, y, r);
  SINK_SELECT(x, rms_norm)(x, gain_C, y, r, epsilon);
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  check_rms_norm(x, gain_C, dy, r);
  check_like("rms_norm_backward", "dx", dx, x);
  check_like("rms_norm_backward", "dgain", dgain_C, gain_C);
  SINK_SELECT(x, rms_norm_backward)(dy, x, gain_C, r, dx, accumulate_dx, dgain_C, accumulate_dgain);
}

void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon) {
  check_sum("add_rms_norm", a, b, u);
  check_rms_norm(u, gain_C, y, r);
  SINK_SELECT(u, add_rms_norm)(a, b, gain_C, u, y, r, epsilon);
}

void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain) {
  check_rms_norm(u, gain_C, dy, r);
  check_sum_gradient("add_rms_norm_backward", u, du, da, db);
  check_like("add_rms_norm_backward", "dgain", dgain_C, gain_C);
  SINK_SELECT(u, add_rms_norm_backward)(dy, du, u, gain_C, r, da, db, dgain_C, accumulate_dgain);
}

}  // namespace sink
