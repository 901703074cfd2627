#include "engine/ops/gate/gate.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/gate/gate_cpu.h"
#include "engine/ops/gate/gate_cuda.h"
#include "engine/ops/gate/gate_ref.h"

namespace sink {
namespace {

void check_gate(const char* tag, const Tensor& o_BTE, const Tensor& gate_BTG) {
  bool fits = o_BTE.rank() == 3 && gate_BTG.rank() == 3 && o_BTE.dim(0) == gate_BTG.dim(0) &&
              o_BTE.dim(1) == gate_BTG.dim(1) && gate_BTG.dim(2) > 0 && o_BTE.dim(2) % gate_BTG.dim(2) == 0 &&
              o_BTE.dtype() == gate_BTG.dtype();
  SINK_CHECK(fits, tag,
             "expected o (B, T, E) and gate (B, T, G) of one type with G a divisor of E: o is " + o_BTE.str() +
                 ", gate is " + gate_BTG.str());
}

}  // namespace

void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE) {
  check_gate("gate", o_BTE, gate_BTG);
  check_like("gate", "y", y_BTE, o_BTE);
  SINK_SELECT(o_BTE, gate)(o_BTE, gate_BTG, y_BTE);
}

void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE,
                   Tensor& dgate_BTG) {
  check_gate("gate_backward", o_BTE, gate_BTG);
  check_like("gate_backward", "dy", dy_BTE, o_BTE);
  check_like("gate_backward", "do", do_BTE, o_BTE);
  check_like("gate_backward", "dgate", dgate_BTG, gate_BTG);
  SINK_SELECT(o_BTE, gate_backward)(dy_BTE, o_BTE, gate_BTG, do_BTE, dgate_BTG);
}

}  // namespace sink
