// Attention as one would write it in BF16 without a kernel of its own: the map before and after its division, its
// gradient and the results are stored in BF16, all else is computed in double. Its errors are what a fused kernel in
// BF16 is measured by.
#pragma once

#include "attention_case.h"
#include "engine/ops/attention/attention_ref.h"

namespace sink::test {

inline double to_bf16(double x) { return static_cast<float>(bf16(static_cast<float>(x))); }
inline void round_to_bf16(Tensor& x) {
  for (std::int64_t n = 0; n < x.size(); ++n) x.data<double>()[n] = to_bf16(x.data<double>()[n]);
}

// Outputs and gradients of a case in F64 whose inputs are BF16 numbers.
template <class Op>
AttentionCase naive_in_bf16(AttentionCase c, const Op& op) {
  c.make_outputs();  // its own
  c.forward(op);
  c.gradients = attention_check::empty_gradients(c.q, c.k, c.config);
  for (Tensor* x : {&c.o, &c.gradients.dq_BHTD, &c.gradients.dk_BGKD, &c.gradients.dv_BGKD})
    x->copy_from(Tensor::zeros(x->shape(), DType::F64));
  auto o = ref::rows_of(c.o), dq = ref::rows_of(c.gradients.dq_BHTD), dk = ref::rows_of(c.gradients.dk_BGKD),
       dv = ref::rows_of(c.gradients.dv_BGKD), grad_o = ref::rows_of(c.upstream);
  std::int64_t D = c.q.dim(3);
  for (std::int64_t b = 0; b < c.q.dim(0); ++b)
    for (std::int64_t h = 0; h < c.q.dim(1); ++h) {
      ref::Head head(c.q, c.k, c.v, c.config, h);
      double *dbias = ref::row_of(c.gradients.dbias_HT, h), *dextra_k = ref::row_of(c.gradients.dextra_k_HD, h),
             *dextra_logit = ref::row_of(c.gradients.dextra_logit_H, h),
             *dextra_v = ref::row_of(c.gradients.dextra_v_HD, h);
      for (std::int64_t t = 0; t < c.q.dim(2); ++t) {
        std::int64_t i = head.position(t), g = head.group_of(h), bht = (b * c.q.dim(1) + h) * c.q.dim(2) + t;
        std::vector<std::int64_t> keys = ref::keys_of(head, i);
        std::vector<double> s = ref::score_row(head, b, h, i, keys), w, a, da;
        AttentionRow row(op, c.m.item(bht), c.S.item(bht), static_cast<double>(keys.size()));
        for (std::size_t n = 0; n < s.size(); ++n) {
          bool extra = n == keys.size();
          const double* v = extra ? head.extra_v : head.v(b, g, keys[n]);
          double stored = extra ? row.g(s[n] - row.m) : to_bf16(row.g(s[n] - row.m));
          w.push_back(stored / row.z());
          a.push_back(row.post(w[n]));
          da.push_back(v ? ref::dot(grad_o(b, h, t), v, D) : 0);
          if (v) ref::add_scaled(extra ? a[n] : to_bf16(a[n]), v, o(b, h, t), D);
        }
        for (std::int64_t d = 0; d < D; ++d) o(b, h, t)[d] = to_bf16(o(b, h, t)[d]);
        double sum = 0;  // D_i
        for (std::size_t n = 0; n < s.size(); ++n) sum += w[n] * row.dpost(w[n]) * da[n];
        if constexpr (!HasPost<Op>) sum = ref::dot(grad_o(b, h, t), o(b, h, t), D);
        for (std::size_t n = 0; n < s.size(); ++n) {
          double x = s[n] - row.m, ds = (row.dg(x) * row.dpost(w[n]) * da[n] - row.dr(x) * row.dz() * sum) / row.z();
          if (n == keys.size()) {
            if (dextra_logit) *dextra_logit += ds;
            if (dextra_v) ref::add_scaled(a[n], grad_o(b, h, t), dextra_v, D);
            if (!dextra_k) continue;
            ref::add_scaled(c.config.scale * ds, head.q(b, h, t), dextra_k, D);
            ref::add_scaled(c.config.scale * ds, head.extra_k, dq(b, h, t), D);
            continue;
          }
          std::int64_t j = keys[n];
          if (dbias) dbias[std::max<std::int64_t>(0, i - j)] += ds;
          ref::add_scaled(c.config.scale * to_bf16(ds), head.k(b, g, j), dq(b, h, t), D);
          ref::add_scaled(c.config.scale * to_bf16(ds), head.q(b, h, t), dk(b, g, j), D);
          ref::add_scaled(to_bf16(a[n]), grad_o(b, h, t), dv(b, g, j), D);
        }
      }
    }
  for (Tensor* x : {&c.gradients.dq_BHTD, &c.gradients.dk_BGKD, &c.gradients.dv_BGKD}) round_to_bf16(*x);
  return c;
}

}  // namespace sink::test
