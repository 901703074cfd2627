// The running sum of gradients of SGD with momentum (Polyak 1964; as torch.optim.SGD keeps it) and Nesterov's look
// ahead, element by element, with g the gradient clipped as in adamw.h:
//   m = momentum m + g
//   u = g + momentum m      (with the new m; Nesterov's direction, which Muon takes)
// m stays and u is not written where the loss or the norm is NaN or infinite.
#pragma once

#include "engine/ops/optimizer/update_math.h"

namespace sink {

struct MomentumSettings {
  double momentum = 0.95;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

}  // namespace sink

namespace sink::ref {

[[gnu::noinline]] inline double momentum_element([[maybe_unused]] std::int64_t i, const MomentumSettings& settings,
                                                 const StepScalars&, double g, double& m) {
  m = settings.momentum * m + g;
  return g + settings.momentum * m;
}

}  // namespace sink::ref

namespace sink {

struct Momentum : ElementUpdate {
  static constexpr const char *name = "momentum", *tensors = "dw, m and u";
  static constexpr bool writes_copy = false;
  using Settings = MomentumSettings;
  static constexpr auto reference = ref::momentum_element;

  template <class R>
  struct Constants : StepConstants<R> {
    R momentum;

    SINK_HD Constants(const Settings& s, const StepScalars& step)
        : StepConstants<R>(s, step), momentum(static_cast<R>(s.momentum)) {}
  };

  template <class R>
  SINK_HD static R element(const Constants<R>& k, R g, R& m) {
    m = k.momentum * m + g;
    return g + k.momentum * m;
  }
};

// dw, m, u: one shape, F32 or F64. `u` may be undefined.
inline void momentum(const MomentumSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& m,
                     Tensor& u) {
  update_elements<Momentum>(settings, step_scalars, dw, u, m);
}

}  // namespace sink
