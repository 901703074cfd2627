// Chapter 3 of the tour: one row of RMSNorm, forward and backward, by the reference and by what trains.
#include <cstdio>

#include "engine/ops/rms_norm/rms_norm.h"
#include "tools/tour/tour_chapters.h"

namespace sink::tour {

void rms_norm_chapter() {
  for (DType type : {DType::F64, DType::F32}) {  // F64: the reference; F32: what trains
    Tensor x = Tensor::from<double>({1, 2}, {3, 4}).to(type), gain_C = Tensor::full({2}, 1, type);
    Tensor y = Tensor::empty_like(x), r = Tensor::empty({1}, type);
    rms_norm(x, gain_C, y, r);
    std::printf("%s: r = %.5f, y = (%.5f, %.5f)\n", type == DType::F64 ? "F64" : "F32", r.item(), y.item(0), y.item(1));

    Tensor dy = Tensor::from<double>({1, 2}, {1, 0}).to(type);
    Tensor dx = Tensor::empty_like(x), dgain_C = Tensor::empty_like(gain_C);
    rms_norm_backward(dy, x, gain_C, r, dx, /*accumulate_dx=*/false, dgain_C, /*accumulate_dgain=*/false);
    std::printf("     dx = (%.5f, %.5f), dgain = (%.5f, %.5f)\n", dx.item(0), dx.item(1), dgain_C.item(0),
                dgain_C.item(1));
  }
}

}  // namespace sink::tour
