// Reference: in double.
#include "engine/ops/soft_cap/soft_cap.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/soft_cap/soft_cap_math.h"

namespace sink::ref {

void soft_cap(const Tensor& x, double cap, Tensor& y) {
  for (std::int64_t n = 0; n < x.size(); ++n) y.data<double>()[n] = soft_capped(x.data<double>()[n], cap);
}

void soft_cap_backward(const Tensor& dy, const Tensor& y, double cap, Tensor& dx) {
  for (std::int64_t n = 0; n < y.size(); ++n)
    dx.data<double>()[n] = dy.data<double>()[n] * soft_cap_slope(y.data<double>()[n], cap);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void soft_cap(const Tensor& x, double cap, Tensor& y) {
  check_like("soft_cap", "y", y, x);
  SINK_CHECK(cap > 0, "soft_cap", "expected a cap above 0, got " + std::to_string(cap));
  if (x.size() == 0) return;
  SINK_SELECT(x, soft_cap)(x, cap, y);
}

void soft_cap_backward(const Tensor& dy, const Tensor& y, double cap, Tensor& dx) {
  check_like("soft_cap_backward", "dy", dy, y);
  check_like("soft_cap_backward", "dx", dx, y);
  SINK_CHECK(cap > 0, "soft_cap_backward", "expected a cap above 0, got " + std::to_string(cap));
  if (y.size() == 0) return;
  SINK_SELECT(y, soft_cap_backward)(dy, y, cap, dx);
}

}  // namespace sink
