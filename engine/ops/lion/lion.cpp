#include "engine/ops/lion/lion.h"

#include "engine/implementation.h"
#include "engine/ops/lion/lion_cpu.h"
#include "engine/ops/lion/lion_cuda.h"
#include "engine/ops/lion/lion_ref.h"

namespace sink {

void lion(const LionSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& copy) {
  check_update("lion", numbers, "dw, w and m", {&dw, &w, &m});
  check_copy("lion", w, copy);
  SINK_SELECT(w, lion)(settings, numbers, dw, w, m, copy);
  refresh_copy(w, copy);
}

}  // namespace sink
