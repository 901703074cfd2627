// Reference: head vectors in double.
#include "engine/ops/add_head_vector/add_head_vector.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"

namespace sink::ref {

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), T = o_BHTD.dim(2), D = o_BHTD.dim(3);
  const double *o = o_BHTD.data<double>(), *v = v_HD.data<double>();
  double* y = y_BHTD.data<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t d = 0; d < D; ++d) {
          std::int64_t i = ((b * H + h) * T + t) * D + d;
          y[i] = o[i] + v[h * D + d];
        }
}

// Forward was: y_bhtd = o_bhtd + v_hd.
void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate) {
  std::int64_t B = dy_BHTD.dim(0), H = dy_BHTD.dim(1), T = dy_BHTD.dim(2), D = dy_BHTD.dim(3);
  const double* dy = dy_BHTD.data<double>();
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t d = 0; d < D; ++d) {
      double sum = 0;
      for (std::int64_t b = 0; b < B; ++b)
        for (std::int64_t t = 0; t < T; ++t) sum += dy[((b * H + h) * T + t) * D + d];
      double& dv = dv_HD.data<double>()[h * D + d];
      dv = accumulate ? dv + sum : sum;
    }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
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
