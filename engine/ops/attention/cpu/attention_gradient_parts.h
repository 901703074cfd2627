// Where the heads of the backward pass write: what heads of one group or sequences add to together is first written
// apart, then added up in a fixed order, so that no result depends on threads.
#pragma once

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/cpu/attention_cpu.h"
#include "engine/threads.h"

namespace sink::cpu {

// Where the gradients of one head go. dk and dv of a query head that shares its keys are kept in f32, to be added up;
// those of the bias and the extra key are this sequence's part. Null where there is none.
template <class E>
struct HeadGradients {
  E *dq, *dk, *dv;
  float *wide_dk, *wide_dv;
  float *dbias, *dextra_k, *dextra_logit, *dextra_v;
};

// out_h = sum_b part_bh, the first X numbers of each row, in rising b.
inline void sum_over_sequences(const Tensor& part_BHX, Tensor& out) {
  if (!out.defined()) return;
  std::int64_t B = part_BHX.dim(0), H = part_BHX.dim(1), X = part_BHX.dim(2), stride = out.size() / H;
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t b = 0; b < B; ++b)
      add_row(1.0f, part_BHX.data<float>() + (b * H + h) * X, out.data<float>() + h * stride, X);
}

// out_g = sum of the heads of group g, in rising order.
template <class E>
void sum_over_groups(const Tensor& part_BHKD, Tensor& out_BGKD) {
  std::int64_t B = out_BGKD.dim(0), G = out_BGKD.dim(1), heads = part_BHKD.dim(1) / G;
  std::int64_t head_size = out_BGKD.dim(2) * out_BGKD.dim(3);
  parallel_for(B * G, [&](std::int64_t bg) {
    const float* part = part_BHKD.data<float>() + bg * heads * head_size;
    E* out = out_BGKD.data<E>() + bg * head_size;
    for (std::int64_t n = 0; n < head_size; ++n) {
      float sum = 0;
      for (std::int64_t h = 0; h < heads; ++h) sum += part[h * head_size + n];
      out[n] = E(sum);
    }
  });
}

// The gradients of all heads, and the parts of those that are shared.
template <class E>
struct GradientParts {
  AttentionGradients& sums;
  Tensor wide_dk, wide_dv, dbias, dextra_k, dextra_logit, dextra_v;

  GradientParts(AttentionGradients& sums, const HeadSizes<E>& sizes) : sums(sums) {
    std::int64_t B = sums.dq_BHTD.dim(0), H = sums.dq_BHTD.dim(1), K = sizes.span.K, D = sizes.D();
    if (sums.dk_BGKD.dim(1) < H) wide_dk = Tensor::empty({B, H, K, D}), wide_dv = Tensor::empty({B, H, K, D});
    auto part = [&](const Tensor& sum, std::int64_t X) { return sum.defined() ? Tensor::empty({B, H, X}) : Tensor(); };
    dbias = part(sums.dbias_HT, sizes.distances());
    dextra_k = part(sums.dextra_k_HD, D);
    dextra_logit = part(sums.dextra_logit_H, 1);
    dextra_v = part(sums.dextra_v_HD, D);
  }

  HeadGradients<E> of(const Head<E>& head) {
    auto part = [&](Tensor& x) {
      return x.defined() ? x.data<float>() + head.bh * (x.size() / (x.dim(0) * x.dim(1))) : nullptr;
    };
    return {Head<E>::rows_of(sums.dq_BHTD, head.bh),
            Head<E>::rows_of(sums.dk_BGKD, head.bg),
            Head<E>::rows_of(sums.dv_BGKD, head.bg),
            part(wide_dk),
            part(wide_dv),
            part(dbias),
            part(dextra_k),
            part(dextra_logit),
            part(dextra_v)};
  }

  void add_up() {
    if (wide_dk.defined()) {
      sum_over_groups<E>(wide_dk, sums.dk_BGKD);
      sum_over_groups<E>(wide_dv, sums.dv_BGKD);
    }
    sum_over_sequences(dbias, sums.dbias_HT);
    sum_over_sequences(dextra_k, sums.dextra_k_HD);
    sum_over_sequences(dextra_logit, sums.dextra_logit_H);
    sum_over_sequences(dextra_v, sums.dextra_v_HD);
  }
};

}  // namespace sink::cpu
