#include "engine/ops/add_head_vector/add_head_vector.h"

#include "engine/implementation.h"
#include "engine/ops/add_head_vector/add_head_vector_cpu.h"
#include "engine/ops/add_head_vector/add_head_vector_cuda.h"
#include "engine/ops/add_head_vector/add_head_vector_ref.h"
#include "engine/ops/check_like.h"

namespace sink {
namespace {

void check_add_head_vector(const char* tag, const Tensor& o_BHTD, const Tensor& v_HD) {
  bool shapes_fit = o_BHTD.rank() == 4 && v_HD.shape() == Shape{o_BHTD.dim(1), o_BHTD.dim(3)};
  SINK_CHECK(
      shapes_fit && v_HD.dtype() == accumulate_type(o_BHTD.dtype()), tag,
      "expected heads (B, H, T, D) and f32 vectors (H, D), or both in f64, got " + o_BHTD.str() + " and " + v_HD.str());
}

}  // namespace

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD) {
  check_add_head_vector("add_head_vector", o_BHTD, v_HD);
  check_like("add_head_vector", "y", y_BHTD, o_BHTD);
  SINK_SELECT(o_BHTD, add_head_vector)(o_BHTD, v_HD, y_BHTD);
}

void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate) {
  check_add_head_vector("add_head_vector_backward", dy_BHTD, dv_HD);
  SINK_SELECT(dy_BHTD, add_head_vector_backward)(dy_BHTD, dv_HD, accumulate);
}

}  // namespace sink
