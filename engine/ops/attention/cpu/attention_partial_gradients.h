// The outputs of the heads of the backward pass. Gradients that several heads of a group or several sequences share are
// computed separately and then summed in a fixed order, so that no result depends on the number of threads.
#pragma once

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/cpu/attention_cpu.h"
#include "engine/ops/attention/op/attention_row.h"
#include "engine/threads.h"

namespace sink::cpu {

// The outputs of one query head; null where there is none. dk_of_query_head and dv_of_query_head, in f32, are set where
// query heads share their keys. The gradients of the bias and the extra key are partial sums, of one sequence.
template <class E>
struct HeadGradients {
  E *dq, *dk, *dv;
  float *dk_of_query_head, *dv_of_query_head;
  float *dbias, *dextra_k, *dextra_logit, *dextra_v;
};

// out_h = sum_b part_bh of the first X values of each row, in ascending b.
inline void sum_over_sequences(const Tensor& part_BHX, Tensor& out) {
  if (!out.defined()) return;
  std::int64_t B = part_BHX.dim(0), H = part_BHX.dim(1), X = part_BHX.dim(2), stride = out.size() / H;
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t b = 0; b < B; ++b)
      add_row(1.0f, part_BHX.data<float>() + (b * H + h) * X, out.data<float>() + h * stride, X);
}

// out_g = sum of the heads of group g, in ascending order.
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

// The gradients, and the partial sums of those that heads or sequences share.
template <class E>
struct PartialGradients {
  AttentionGradients& sums;
  Tensor dk_of_query_head, dv_of_query_head, dbias, dextra_k, dextra_logit, dextra_v;

  PartialGradients(AttentionGradients& sums, const HeadSizes<E>& sizes) : sums(sums) {
    std::int64_t B = sums.dq_BHTD.dim(0), H = sums.dq_BHTD.dim(1), K = sizes.span.K, D = sizes.D();
    if (sums.dk_BGKD.dim(1) < H)
      dk_of_query_head = Tensor::empty({B, H, K, D}), dv_of_query_head = Tensor::empty({B, H, K, D});
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
            part(dk_of_query_head),
            part(dv_of_query_head),
            part(dbias),
            part(dextra_k),
            part(dextra_logit),
            part(dextra_v)};
  }

  void reduce() {
    if (dk_of_query_head.defined()) {
      sum_over_groups<E>(dk_of_query_head, sums.dk_BGKD);
      sum_over_groups<E>(dv_of_query_head, sums.dv_BGKD);
    }
    sum_over_sequences(dbias, sums.dbias_HT);
    sum_over_sequences(dextra_k, sums.dextra_k_HD);
    sum_over_sequences(dextra_logit, sums.dextra_logit_H);
    sum_over_sequences(dextra_v, sums.dextra_v_HD);
  }
};

// Compiled once, in attention_partial_gradients.cpp.
extern template struct PartialGradients<float>;
extern template struct PartialGradients<bf16>;

}  // namespace sink::cpu
