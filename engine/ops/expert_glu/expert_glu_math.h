// The gated units of one expert, F of them. R: float or double.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/ops/expert_glu/expert_glu.h"
#include "engine/vector_math.h"

namespace sink {

inline constexpr double kExpertGluSlope = 1.702, kExpertGluLimit = 7;

// One unit before the router's factor, and its derivatives: gpt-oss.
template <class R>
struct ClampedSwiGluUnit {
  R g, u, l;
  bool cut_gate, cut_up;

  SINK_HD ClampedSwiGluUnit(R gate, R up) {
    const R limit = R(kExpertGluLimit);
    cut_gate = gate > limit;  // a NaN is not cut off
    cut_up = up > limit || up < -limit;
    g = cut_gate ? limit : gate;
    u = up > limit ? limit : up < -limit ? -limit : up;
    l = logistic_fast(R(kExpertGluSlope) * g);
  }
  SINK_HD R value() const { return (u + 1) * g * l; }
  SINK_HD R by_gate() const { return cut_gate ? R(0) : (u + 1) * l * (1 + R(kExpertGluSlope) * g * (1 - l)); }
  SINK_HD R by_up() const { return cut_up ? R(0) : g * l; }
};

// Mixtral.
template <class R>
struct SwiGluUnit {
  R g, u, l;

  SINK_HD SwiGluUnit(R gate, R up) : g(gate), u(up), l(logistic_fast(gate)) {}
  SINK_HD R value() const { return g * l * u; }
  SINK_HD R by_gate() const { return u * l * (1 + g * (1 - l)); }
  SINK_HD R by_up() const { return g * l; }
};

// f.operator()<Unit>() with one of the above.
template <class R, class F>
void with_expert_unit(ExpertUnit unit, F&& f) {
  unit == ExpertUnit::swiglu ? f.template operator()<SwiGluUnit<R>>() : f.template operator()<ClampedSwiGluUnit<R>>();
}

template <class Unit, class R, class X>
SINK_HD void expert_glu_units(const X* gate_up_2F, R p, std::int64_t F, X* y_F) {
  if (p == 0) {  // not chosen
    for (std::int64_t f = 0; f < F; ++f) store(y_F[f], R(0));
    return;
  }
  for (std::int64_t f = 0; f < F; ++f) store(y_F[f], p * Unit(R(gate_up_2F[2 * f]), R(gate_up_2F[2 * f + 1])).value());
}

// Returns dp.
template <class Unit, class R, class X>
SINK_HD R expert_glu_units_backward(const X* dy_F, const X* gate_up_2F, R p, std::int64_t F, X* dgate_up_2F) {
  R dp = 0;
  for (std::int64_t f = 0; f < F; ++f) {
    const R gate = R(gate_up_2F[2 * f]), up = R(gate_up_2F[2 * f + 1]);
    const Unit unit(gate, up);
    const R dy = R(dy_F[f]);
    dp += dy * unit.value();
    store(dgate_up_2F[2 * f], dy * p * unit.by_gate());
    store(dgate_up_2F[2 * f + 1], dy * p * unit.by_up());
  }
  return dp;
}

}  // namespace sink
