// Chapter 6 of the tour: three updates of one weight by AdamW.
#include <cstdio>

#include "engine/ops/optimizer/adamw.h"
#include "tools/tour/tour_chapters.h"

namespace sink::tour {

void adamw_chapter() {
  AdamwSettings settings{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0};
  Tensor w = Tensor::full({1}, 0.5, DType::F64), m = Tensor::zeros({1}, DType::F64), v = Tensor::zeros({1}, DType::F64);
  double gradients[] = {0.2, 0.2, -0.02};
  for (int update = 1; update <= 3; ++update) {
    Tensor dw = Tensor::full({1}, gradients[update - 1], DType::F64);
    adamw(settings, make_step_scalars(/*learning_rate=*/0.01, update), dw, w, m, v);
    std::printf("update %d: dw = %5.2f, m = %.5f, v = %.6f, w = %.6f\n", update, dw.item(), m.item(), v.item(),
                w.item());
  }
}

}  // namespace sink::tour
