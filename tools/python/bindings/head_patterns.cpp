#include "tools/python/bindings/head_patterns.h"

#include <limits>

#include "engine/implementation.h"
#include "engine/tensor_view.h"
#include "engine/threads.h"

namespace sink::python {
namespace {

struct PatternShape {
  std::int64_t B, H, P, K;  // K = E + P keys

  explicit PatternShape(const AttentionPoint& point)
      : B(point.q_BHTD.dim(0)),
        H(point.q_BHTD.dim(1)),
        P(point.q_BHTD.dim(2)),
        K(point.k_BGTD.dim(2) + (point.has_extra_key ? 1 : 0)) {}
  Tensor empty(DType dtype) const { return Tensor::empty({B, H, P, K}, accumulate_type(dtype)); }
  // The (P, K) of one sequence and head.
  Tensor of(const Tensor& pattern_BHTK, std::int64_t bh) const { return pattern_BHTK.slice(bh * P * K, {P, K}); }
};

// f(bh) for every sequence and head; on all threads if the tensors are in host memory.
template <class F>
void for_each_head(const AttentionPoint& point, const PatternShape& shape, F&& f) {
  if (point.q_BHTD.device() == Device::cpu) return parallel_for(shape.B * shape.H, f);
  for (std::int64_t bh = 0; bh < shape.B * shape.H; ++bh) f(bh);
}

}  // namespace

Tensor attention_pattern_of(const AttentionPoint& point) {
  const PatternShape shape(point);
  Tensor pattern_BHTK = shape.empty(point.q_BHTD.dtype());
  for_each_head(point, shape, [&](std::int64_t bh) {
    Tensor head_TK = shape.of(pattern_BHTK, bh);
    head_TK.copy_from(point.pattern(bh / shape.H, bh % shape.H));
  });
  return pattern_BHTK;
}

Tensor attention_scores(const AttentionPoint& point) {
  const PatternShape shape(point);
  Tensor scores_BHTK = Tensor::full({shape.B, shape.H, shape.P, shape.K}, -std::numeric_limits<double>::infinity(),
                                    accumulate_type(point.q_BHTD.dtype()));
  const AttentionPoint::Trace trace = point.trace();
  const std::int64_t extra = point.has_extra_key ? 1 : 0;
  with_real<float, double>(scores_BHTK.dtype(), [&](auto zero) {
    auto* scores = scores_BHTK.data<decltype(zero)>();
    for_each_head(point, shape, [&](std::int64_t bh) {
      for (std::int64_t i = 0; i < shape.P; ++i)
        for (const AttentionTrace::Key& key : trace({}, bh / shape.H, bh % shape.H, i).keys) {
          const std::int64_t column = key.j == AttentionTrace::kExtraKey ? 0 : key.j + extra;
          scores[(bh * shape.P + i) * shape.K + column] = static_cast<decltype(zero)>(key.s);
        }
    });
  });
  return scores_BHTK;
}

Tensor mix_values(const AttentionPoint& point, const Tensor& pattern_BHTK) {
  const PatternShape shape(point);
  const Tensor v = point.v_BGTD.to(Device::cpu).to(DType::F64), a = pattern_BHTK.to(DType::F64);
  const Tensor extra_v = point.extra_v_HD.defined() ? point.extra_v_HD.to(Device::cpu).to(DType::F64) : Tensor();
  const std::int64_t G = v.dim(1), keys = v.dim(2), D = v.dim(3), extra = shape.K - keys;
  Tensor o_BHTD = Tensor::zeros({shape.B, shape.H, shape.P, D}, DType::F64);
  parallel_for(shape.B * shape.H, [&](std::int64_t bh) {
    const std::int64_t b = bh / shape.H, h = bh % shape.H, g = h / (shape.H / G);
    const double* v_KD = v.data<double>() + (b * G + g) * keys * D;
    for (std::int64_t i = 0; i < shape.P; ++i) {
      const double* a_K = a.data<double>() + (bh * shape.P + i) * shape.K;
      double* o_D = o_BHTD.data<double>() + (bh * shape.P + i) * D;
      if (extra == 1 && extra_v.defined())
        for (std::int64_t d = 0; d < D; ++d) o_D[d] += a_K[0] * extra_v.data<double>()[h * D + d];
      for (std::int64_t j = 0; j < keys; ++j)
        for (std::int64_t d = 0; d < D; ++d) o_D[d] += a_K[extra + j] * v_KD[j * D + d];
    }
  });
  return o_BHTD.to(point.o_BHTD.value().dtype()).to(point.o_BHTD.value().device());
}

}  // namespace sink::python
