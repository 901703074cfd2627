#include "engine/ops/momentum/momentum.h"

#include "engine/implementation.h"
#include "engine/ops/momentum/momentum_cpu.h"
#include "engine/ops/momentum/momentum_cuda.h"
#include "engine/ops/momentum/momentum_ref.h"

namespace sink {

void momentum(const MomentumSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& m, Tensor& u) {
  check_update("momentum", numbers, "dw, m and u", {&dw, &m, u.defined() ? &u : &m});
  SINK_SELECT(m, momentum)(settings, numbers, dw, m, u);
}

}  // namespace sink
