#include "engine/ops/add_head_vector/add_head_vector.h"

#include "engine/ops/add_head_vector/add_head_vector_ref.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

namespace sink {
namespace {

struct HeadVectorSizes {
  std::int64_t B, H, T, D;
};

HeadVectorSizes check(const char* tag, const Tensor& o_BHTD, const Tensor& v_HD) {
  bool shapes_fit = o_BHTD.rank() == 4 && v_HD.shape() == Shape{o_BHTD.dim(1), o_BHTD.dim(3)};
  bool types_fit = v_HD.dtype() == (o_BHTD.dtype() == DType::F64 ? DType::F64 : DType::F32);
  SINK_CHECK(
      shapes_fit && types_fit, tag,
      "expected heads (B, H, T, D) and f32 vectors (H, D), or both in f64, got " + o_BHTD.str() + " and " + v_HD.str());
  return {o_BHTD.dim(0), o_BHTD.dim(1), o_BHTD.dim(2), o_BHTD.dim(3)};
}

// f(zero of the heads' type, zero of the vectors' type)
template <class F>
void with_types(const Tensor& o_BHTD, F&& f) {
  with_real(o_BHTD.dtype(), [&](auto zero) {
    if constexpr (std::is_same_v<decltype(zero), double>)
      f(zero, double{});
    else
      f(zero, float{});
  });
}

}  // namespace

namespace cpu {
namespace {

// As ref::add_head_vector_backward, coordinates [first, last) of a row at a time; each keeps the order of its sum.
template <class R, class V>
void add_head_vector_backward(const R* dy_BHTD, V* dv_HD, std::int64_t h, std::int64_t B, std::int64_t H,
                              std::int64_t T, std::int64_t D, bool accumulate) {
  constexpr std::int64_t kBlock = 32;
  for (std::int64_t first = 0; first < D; first += kBlock) {
    std::int64_t count = std::min(kBlock, D - first);
    double sum[kBlock] = {};
    for (std::int64_t b = 0; b < B; ++b) {
      const R* dy = dy_BHTD + (b * H + h) * T * D + first;
      for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t i = 0; i < count; ++i) sum[i] += dy[t * D + i];
    }
    V* dv = dv_HD + h * D + first;
    for (std::int64_t i = 0; i < count; ++i) dv[i] = static_cast<V>(accumulate ? dv[i] + sum[i] : sum[i]);
  }
}

}  // namespace
}  // namespace cpu

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD) {
  auto [B, H, T, D] = check("add_head_vector", o_BHTD, v_HD);
  SINK_CHECK(y_BHTD.shape() == o_BHTD.shape() && y_BHTD.dtype() == o_BHTD.dtype(), "add_head_vector",
             "o and y must be alike: o is " + o_BHTD.str() + ", y is " + y_BHTD.str());
  with_types(o_BHTD, [&, B = B, H = H, T = T, D = D](auto zero, auto v_zero) {
    using R = decltype(zero);
    using V = decltype(v_zero);
    parallel_chunks(B * H, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t bh = begin; bh < end; ++bh)
        ref::add_head_vector(o_BHTD.data<R>() + bh * T * D, v_HD.data<V>() + bh % H * D, y_BHTD.data<R>() + bh * T * D,
                             T, D);
    });
  });
}

void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate) {
  auto [B, H, T, D] = check("add_head_vector_backward", dy_BHTD, dv_HD);
  with_types(dy_BHTD, [&, B = B, H = H, T = T, D = D](auto zero, auto v_zero) {
    using R = decltype(zero);
    using V = decltype(v_zero);
    bool reference = std::is_same_v<R, double> || use_reference();
    auto backward = reference ? ref::add_head_vector_backward<R, V> : cpu::add_head_vector_backward<R, V>;
    parallel_for(H, [&](std::int64_t h) { backward(dy_BHTD.data<R>(), dv_HD.data<V>(), h, B, H, T, D, accumulate); });
  });
}

}  // namespace sink
