#include "engine/ops/adamw/adamw.h"

#include "engine/implementation.h"
#include "engine/ops/adamw/adamw_cpu.h"
#include "engine/ops/adamw/adamw_cuda.h"
#include "engine/ops/adamw/adamw_ref.h"

namespace sink {

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy) {
  check_update("adamw", numbers, "dw, w, m and v", {&dw, &w, &m, &v});
  check_copy("adamw", w, copy);
  SINK_SELECT(w, adamw)(settings, numbers, dw, w, m, v, copy);
  refresh_copy(w, copy);
}

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v) {
  Tensor no_copy;
  adamw(settings, numbers, dw, w, m, v, no_copy);
}

}  // namespace sink
