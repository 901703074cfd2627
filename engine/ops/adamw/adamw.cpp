#include "engine/ops/adamw/adamw.h"

#include "engine/implementation.h"
#include "engine/ops/adamw/adamw_cpu.h"
#include "engine/ops/adamw/adamw_cuda.h"
#include "engine/ops/adamw/adamw_ref.h"

namespace sink {

void adamw(const AdamwStep& settings, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v) {
  bool fits = w.shape() == dw.shape() && w.shape() == m.shape() && w.shape() == v.shape() && w.dtype() == dw.dtype() &&
              w.dtype() == m.dtype() && w.dtype() == v.dtype() && w.dtype() == accumulate_type(w.dtype());
  SINK_CHECK(fits, "adamw",
             "w, dw, m and v must be alike, f32 or f64: w is " + w.str() + ", dw is " + dw.str() + ", m is " + m.str() +
                 ", v is " + v.str());
  SINK_SELECT(w, adamw)(settings, dw, w, m, v);
}

}  // namespace sink
