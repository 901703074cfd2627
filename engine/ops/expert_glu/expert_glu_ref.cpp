// Reference: in double.
#include "engine/ops/expert_glu/expert_glu.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/expert_glu/expert_glu_math.h"

namespace sink::ref {

// i counts experts of all rows.
void expert_glu(const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& y) {
  const std::int64_t F = y.dim(-1) / p.dim(-1);
  with_expert_unit<double>(unit, [&]<class Unit>() {
    for (std::int64_t i = 0; i < p.size(); ++i)
      expert_glu_units<Unit>(gate_up.data<double>() + i * 2 * F, p.data<double>()[i], F, y.data<double>() + i * F);
  });
}

void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& dgate_up,
                         Tensor& dp) {
  const std::int64_t F = dy.dim(-1) / p.dim(-1);
  with_expert_unit<double>(unit, [&]<class Unit>() {
    for (std::int64_t i = 0; i < p.size(); ++i)
      dp.data<double>()[i] =
          expert_glu_units_backward<Unit>(dy.data<double>() + i * F, gate_up.data<double>() + i * 2 * F,
                                          p.data<double>()[i], F, dgate_up.data<double>() + i * 2 * F);
  });
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_expert_glu(const char* tag, const char* name, const Tensor& gate_up, const Tensor& p, const Tensor& y) {
  Shape expected = y.shape();
  if (y.rank() > 0) expected[-1] *= 2;
  Shape rows = p.shape();
  if (y.rank() > 0 && rows.rank() == y.rank()) rows[-1] = y.dim(-1);
  const bool fits = y.rank() > 0 && gate_up.shape() == expected && rows == y.shape() && p.dim(-1) > 0 &&
                    y.dim(-1) % p.dim(-1) == 0 && gate_up.dtype() == y.dtype() && p.dtype() == y.dtype();
  SINK_CHECK(fits, tag,
             "expected (..., E 2F), (..., E) and (..., E F) of one type: gate_up is " + gate_up.str() + ", p is " +
                 p.str() + ", " + name + " is " + y.str());
}

}  // namespace

void expert_glu(const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& y) {
  check_expert_glu("expert_glu", "y", gate_up, p, y);
  if (y.size() == 0) return;
  SINK_SELECT(y, expert_glu)(gate_up, p, unit, y);
}

void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& dgate_up,
                         Tensor& dp) {
  check_expert_glu("expert_glu_backward", "dy", gate_up, p, dy);
  check_like("expert_glu_backward", "dgate_up", dgate_up, gate_up);
  check_like("expert_glu_backward", "dp", dp, p);
  if (dy.size() == 0) return;
  SINK_SELECT(dy, expert_glu_backward)(dy, gate_up, p, unit, dgate_up, dp);
}

}  // namespace sink
