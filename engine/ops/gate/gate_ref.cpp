#include "engine/ops/gate/gate_ref.h"

#include "engine/vector_math.h"

namespace sink::ref {

// Counted through all rows, group n holds the numbers [n width, (n + 1) width).
void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE) {
  std::int64_t width = o_BTE.dim(2) / gate_BTG.dim(2);
  const double *o = o_BTE.data<double>(), *g = gate_BTG.data<double>();
  double* y = y_BTE.data<double>();
  for (std::int64_t n = 0; n < gate_BTG.size(); ++n)
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) y[e] = o[e] * logistic_fast(g[n]);
}

// Forward was: y_e = o_e logistic(g_n).
void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE,
                   Tensor& dgate_BTG) {
  std::int64_t width = o_BTE.dim(2) / gate_BTG.dim(2);
  const double *dy = dy_BTE.data<double>(), *o = o_BTE.data<double>(), *g = gate_BTG.data<double>();
  double *d_o = do_BTE.data<double>(), *dgate = dgate_BTG.data<double>();
  for (std::int64_t n = 0; n < gate_BTG.size(); ++n) {
    double l = logistic_fast(g[n]), dl = 0;
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) {
      d_o[e] = dy[e] * l;
      dl += dy[e] * o[e];
    }
    dgate[n] = dl * l * (1 - l);
  }
}

}  // namespace sink::ref
