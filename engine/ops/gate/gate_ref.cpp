// Reference: the output gate in double.
#include "engine/ops/gate/gate.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/gate/gate_function.h"

namespace sink::ref {

// Group n, counted over all rows, is the elements [n width, (n + 1) width).
void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE, GateFunction function) {
  std::int64_t width = o_BTE.dim(2) / gate_BTG.dim(2);
  const double *o = o_BTE.data<double>(), *g = gate_BTG.data<double>();
  double* y = y_BTE.data<double>();
  with_gate_function(function, [&](auto f) {
    for (std::int64_t n = 0; n < gate_BTG.size(); ++n)
      for (std::int64_t e = n * width; e < (n + 1) * width; ++e) y[e] = o[e] * f.f(g[n]);
  });
}

// Forward was: y_e = o_e f(g_n).
void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE, Tensor& dgate_BTG,
                   GateFunction function) {
  std::int64_t width = o_BTE.dim(2) / gate_BTG.dim(2);
  const double *dy = dy_BTE.data<double>(), *o = o_BTE.data<double>(), *g = gate_BTG.data<double>();
  double *d_o = do_BTE.data<double>(), *dgate = dgate_BTG.data<double>();
  with_gate_function(function, [&](auto f) {
    for (std::int64_t n = 0; n < gate_BTG.size(); ++n) {
      double l = f.f(g[n]), dl = 0;
      for (std::int64_t e = n * width; e < (n + 1) * width; ++e) {
        d_o[e] = dy[e] * l;
        dl += dy[e] * o[e];
      }
      dgate[n] = f.backward(dl, g[n], l);
    }
  });
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
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

void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE, GateFunction f) {
  check_gate("gate", o_BTE, gate_BTG);
  check_like("gate", "y", y_BTE, o_BTE);
  SINK_SELECT(o_BTE, gate)(o_BTE, gate_BTG, y_BTE, f);
}

void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE, Tensor& dgate_BTG,
                   GateFunction f) {
  check_gate("gate_backward", o_BTE, gate_BTG);
  check_like("gate_backward", "dy", dy_BTE, o_BTE);
  check_like("gate_backward", "do", do_BTE, o_BTE);
  check_like("gate_backward", "dgate", dgate_BTG, gate_BTG);
  SINK_SELECT(o_BTE, gate_backward)(dy_BTE, o_BTE, gate_BTG, do_BTE, dgate_BTG, f);
}

}  // namespace sink
