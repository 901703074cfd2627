// Naive attention in BF16: the attention pattern before and after division, its gradient and the results are rounded to
// BF16; everything else is computed in double. The errors of the fused kernels are compared with its errors.
#pragma once

#include "engine/ops/attention/op/attention_row.h"
#include "engine/ops/attention/ref/attention_ref.h"
#include "tests/engine/ops/attention_case.h"

namespace sink::test {

inline double to_bf16(double x) { return static_cast<float>(bf16(static_cast<float>(x))); }
inline void round_to_bf16(Tensor& x) {
  for (std::int64_t n = 0; n < x.size(); ++n) x.data<double>()[n] = to_bf16(x.data<double>()[n]);
}

// Outputs and gradients of a case in F64 whose inputs are BF16 values.
template <class Op>
AttentionCase naive_in_bf16(AttentionCase c, const Op& op) {
  c.make_outputs();  // its own
  c.forward(op);
  c.gradients = attention_check::empty_gradients(c.q, c.k, c.config);
  for (Tensor* x : {&c.o, &c.gradients.dq_BHTD, &c.gradients.dk_BGKD, &c.gradients.dv_BGKD})
    x->copy_from(Tensor::zeros(x->shape(), DType::F64));
  auto all_o = ref::rows_of(c.o), grad_o = ref::rows_of(c.upstream);
  for (std::int64_t b = 0; b < c.q.dim(0); ++b)
    for (std::int64_t h = 0; h < c.q.dim(1); ++h) {
      ref::Head head(c.q, c.k, c.v, c.config, h);
      ref::HeadGradients to(c.gradients, h);
      for (std::int64_t t = 0; t < c.q.dim(2); ++t) {
        std::int64_t i = head.position(t), g = head.group_of(h), bht = (b * c.q.dim(1) + h) * c.q.dim(2) + t;
        std::vector<std::int64_t> keys = ref::keys_of(head, b, i);
        ref::Row q = head.q(b, h, t), do_i = grad_o(b, h, t);
        std::vector<ref::Row> k = head.k(b, g, keys), v = head.v(b, g, keys);
        std::span<double> o = all_o(b, h, t), dq = to.dq(b, h, t);
        std::vector<double> s = ref::score_row(head, i, q, keys, k), w, a, da;
        AttentionRow row(op, c.m.item(bht), c.S.item(bht), static_cast<double>(keys.size()));
        for (std::size_t n = 0; n < s.size(); ++n) {
          bool extra = n == keys.size();
          ref::Row v_j = extra ? head.extra_v : v[n];
          double stored = extra ? row.g(s[n] - row.m) : to_bf16(row.g(s[n] - row.m));
          w.push_back(stored / row.z());
          a.push_back(row.post(w[n]));
          da.push_back(v_j.empty() ? 0 : ref::dot(do_i, v_j));
          ref::add_scaled(extra ? a[n] : to_bf16(a[n]), v_j, o);
        }
        for (double& o_d : o) o_d = to_bf16(o_d);
        double sum = 0;  // D_i
        for (std::size_t n = 0; n < s.size(); ++n) sum += row.in_D(s[n] - row.m, w[n]) * row.dpost(w[n]) * da[n];
        if constexpr (!NeedsWholeRow<Op>) sum = ref::dot(do_i, o);
        for (std::size_t n = 0; n < s.size(); ++n) {
          double x = s[n] - row.m, ds = (row.dg(x) * row.dpost(w[n]) * da[n] - row.dr(x) * row.dz() * sum) / row.z();
          if (n == keys.size()) {
            if (!to.dextra_logit.empty()) to.dextra_logit[0] += ds;
            if (!to.dextra_v.empty()) ref::add_scaled(a[n], do_i, to.dextra_v);
            if (to.dextra_k.empty()) continue;
            ref::add_scaled(c.config.scale * ds, q, to.dextra_k);
            ref::add_scaled(c.config.scale * ds, head.extra_k, dq);
            continue;
          }
          std::int64_t j = keys[n];
          if (!to.dbias.empty()) to.dbias[head.distance(i, j)] += ds;
          ref::add_scaled(c.config.scale * to_bf16(ds), k[n], dq);
          ref::add_scaled(c.config.scale * to_bf16(ds), q, to.dk(b, g, j));
          ref::add_scaled(to_bf16(a[n]), do_i, to.dv(b, g, j));
        }
      }
    }
  for (Tensor* x : {&c.gradients.dq_BHTD, &c.gradients.dk_BGKD, &c.gradients.dv_BGKD}) round_to_bf16(*x);
  return c;
}

}  // namespace sink::test
