// The running sum of gradients of SGD with momentum (Polyak 1964; as torch.optim.SGD keeps it) and Nesterov's look
// ahead, element by element, with g the gradient clipped as in adamw.h:
//   m = momentum m + g
//   u = g + momentum m      (with the new m; Nesterov's direction, which Muon takes)
// m stays and u is not written where the loss or the norm is NaN or infinite.
#pragma once

#include "engine/ops/backends.h"
#include "engine/ops/optimizer/update.h"

namespace sink {

struct MomentumSettings {
  double momentum;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

// dw, m, u: one shape, F32 or F64. `u` may be undefined.
void momentum(const MomentumSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& m, Tensor& u);

SINK_BACKENDS(momentum)

}  // namespace sink
