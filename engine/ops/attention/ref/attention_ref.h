// Attention in plain loops, in double: what the fast kernels are tested against and what a reader steps through, as in
// `break attention_row if h == 1 && i == 5`. The formulas are those of attention.h. All tensors are F64.
#pragma once

#include <algorithm>

#include "engine/ops/attention/ref/attention_head_ref.h"
#include "engine/threads.h"

namespace sink::ref {

// Query i of head h in sequence b: computes its output o_i, and m_i and S_i, which the backward pass needs.
//
//     a_ij = post(g(s_ij - m_i) / z(S_i, n_i)),   S_i = sum_j r(s_ij - m_i)
//
// The operation gives m, g, r, z and post. For softmax g and r are e^x, m is the largest score, z is S and post changes
// nothing: a_ij = e^(s_ij - m_i) / sum_j e^(s_ij - m_i). For sigmoid g is 1 / (1 + e^-x), m is 0 and z is 1.
template <class Op>
[[gnu::noinline]] void attention_row(const Op& op, const Head& head, std::int64_t b, std::int64_t h, std::int64_t i,
                                     std::span<double> o, double* m_i, double* S_i) {
  std::int64_t group = head.group_of(h);
  Row q = head.q(b, h, head.row(i));

  // Mask: the keys j that query i sees. Element n of k, v, s and a belongs to key j = keys[n].
  std::vector<std::int64_t> keys = keys_of(head, b, i);
  std::vector<Row> k = head.k(b, group, keys), v = head.v(b, group, keys);

  // 1. Scores: s_ij = scale q_i . k_j + bias_h[max(0, i - j)]; last the extra key, which every query sees
  double scale = head.config.scale;
  std::vector<double> s;
  for (std::size_t n = 0; n < keys.size(); ++n) s.push_back(scale * dot(q, k[n]) + head.bias_at(i, keys[n]));
  if (!head.extra_k.empty()) s.push_back(scale * dot(q, head.extra_k));
  if (!head.extra_logit.empty()) s.push_back(head.extra_logit[0]);

  // 2. Shift: m_i = max_j s_ij for softmax, so that e^(s_ij - m_i) is at most 1; 0 or log n_i for other operations, or
  // the threshold at which sum_j g(s_ij - m_i) = 1 (then r is g')
  double n_i = static_cast<double>(keys.size());
  double m = first_m(op, n_i);
  if constexpr (ShiftsByMax<Op>)
    for (double s_j : s) m = std::max(m, op.m_of_max(s_j));
  if constexpr (ShiftsByThreshold<Op>) m = threshold(op, s);

  // 3. Sum: S_i = sum_j r(s_ij - m_i), where r is g (softmax: e^x) unless the operation has a separate normalizer
  double S = 0;
  for (double s_j : s) S += AttentionRow(op, m).r(s_j - m);

  // 4. Weights: a_ij = post(g(s_ij - m_i) / z(S_i, n_i))
  AttentionRow row(op, m, S, n_i);
  double z = row.z();
  std::vector<double> a;
  for (double s_j : s) a.push_back(row.post(row.g(s_j - m) / z));

  // 5. Output: o_i = sum_j a_ij v_j
  for (double& o_d : o) o_d = 0;
  for (std::size_t n = 0; n < keys.size(); ++n) add_scaled(a[n], v[n], o);
  if (!head.extra_v.empty()) add_scaled(a.back(), head.extra_v, o);
  *m_i = m;
  *S_i = S;
}

// The gradients through one query, passes 5 to 1 of attention_row in reverse: adds to dq_i, to the rows of dk and dv,
// and to the gradients of the bias and the extra key. For softmax ds_ij = a_ij (da_ij - sum_j a_ij da_ij).
// (`do`, the gradient of o, is a keyword of C++.)
template <class Op>
[[gnu::noinline]] void attention_row_backward(const Op& op, const Head& head, Row do_i, double m, double S,
                                              std::int64_t b, std::int64_t h, std::int64_t i,
                                              const HeadGradients& gradients) {
  std::int64_t group = head.group_of(h);
  Row q = head.q(b, h, head.row(i));
  std::vector<std::int64_t> keys = keys_of(head, b, i);
  std::vector<Row> k = head.k(b, group, keys), v = head.v(b, group, keys);
  std::span<double> dq = gradients.dq(b, h, head.row(i));
  std::vector<std::span<double>> dk = gradients.dk(b, group, keys), dv = gradients.dv(b, group, keys);

  // Scores and weights again, from the forward's m_i and S_i; w_ij are the weights before post
  std::vector<double> s = score_row(head, i, q, keys, k);
  AttentionRow row(op, m, S, static_cast<double>(keys.size()));
  double z = row.z(), scale = head.config.scale;
  std::vector<double> w, a;
  for (double s_j : s) w.push_back(row.g(s_j - m) / z);
  for (double w_j : w) a.push_back(row.post(w_j));

  // 5. o_i = sum_j a_ij v_j, so da_ij = do_i . v_j and dv_j += a_ij do_i
  std::vector<double> da;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    da.push_back(dot(do_i, v[n]));
    add_scaled(a[n], do_i, dv[n]);
  }
  if (head.config.extra_key.present()) da.push_back(head.extra_v.empty() ? 0 : dot(do_i, head.extra_v));
  if (!head.extra_v.empty()) add_scaled(a.back(), do_i, gradients.dextra_v);

  // 4. a_ij = post(w_ij), so dw_ij = post'(w_ij) da_ij
  std::vector<double> dw;
  for (std::size_t n = 0; n < s.size(); ++n) dw.push_back(row.dpost(w[n]) * da[n]);

  // 3. Softmax: ds_ij = a_ij (da_ij - D_i) with D_i = sum_k a_ik da_ik. In general
  // ds_ij = (g'(x_ij) dw_ij - r'(x_ij) z'(S_i) D_i) / z with D_i = sum_k w_ik dw_ik. For a threshold,
  // D_i = sum_k g'(x_ik) dw_ik, and g' and 1 / S_i replace r' and z'. in_D() selects w or g'
  double D_i = 0;
  for (std::size_t n = 0; n < s.size(); ++n) D_i += row.in_D(s[n] - m, w[n]) * dw[n];
  std::vector<double> ds;
  for (std::size_t n = 0; n < s.size(); ++n) {
    double x = s[n] - m;
    ds.push_back((row.dg(x) * dw[n] - row.dr(x) * row.dz() * D_i) / z);
  }

  // 2. No gradient flows through m_i: where it is the maximum, the weights do not depend on it; a threshold's is in ds

  // 1. s_ij = scale q_i . k_j + bias_h[max(0, i - j)], so dq_i += scale ds_ij k_j and dk_j += scale ds_ij q_i
  for (std::size_t n = 0; n < keys.size(); ++n) {
    add_scaled(scale * ds[n], k[n], dq);
    add_scaled(scale * ds[n], q, dk[n]);
    if (!head.bias.empty()) gradients.dbias[head.distance(i, keys[n])] += ds[n];
  }
  if (!head.extra_k.empty()) {
    add_scaled(scale * ds.back(), head.extra_k, dq);
    add_scaled(scale * ds.back(), q, gradients.dextra_k);
  }
  if (!head.extra_logit.empty()) gradients.dextra_logit[0] += ds.back();
}

template <class Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2);
  Rows<double> o = rows_of(o_BHTD);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    std::int64_t b = bh / H, h = bh % H;
    Head head(q_BHTD, k_BGKD, v_BGKD, config, h);
    double *m = m_BHT.data<double>() + bh * T, *S = S_BHT.data<double>() + bh * T;
    for (std::int64_t t = 0; t < T; ++t) attention_row(op, head, b, h, head.position(t), o(b, h, t), m + t, S + t);
  });
}

template <class Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                      const Tensor& v_BGKD, const Tensor&, const Tensor& m_BHT, const Tensor& S_BHT,
                                      const AttentionConfig& config) {
  std::int64_t B = q_BHTD.dim(0), H = q_BHTD.dim(1), T = q_BHTD.dim(2), G = k_BGKD.dim(1);
  AttentionGradients gradients = attention_check::empty_gradients(q_BHTD, k_BGKD, config);
  Rows<const double> grad_o = rows_of(do_BHTD);
  for (Tensor* x : {&gradients.dq_BHTD, &gradients.dk_BGKD, &gradients.dv_BGKD}) x->fill(0);
  // The query heads of one group, in all sequences, add to the same dk and dv; the bias of a head sums over sequences.
  parallel_for(G, [&](std::int64_t g) {
    for (std::int64_t h = g * (H / G); h < (g + 1) * (H / G); ++h) {
      HeadGradients head_gradients(gradients, h);
      for (std::int64_t b = 0; b < B; ++b) {
        Head head(q_BHTD, k_BGKD, v_BGKD, config, h);
        const double *m = m_BHT.data<double>() + (b * H + h) * T, *S = S_BHT.data<double>() + (b * H + h) * T;
        for (std::int64_t t = 0; t < T; ++t)
          attention_row_backward(op, head, grad_o(b, h, t), m[t], S[t], b, h, head.position(t), head_gradients);
      }
    }
  });
  return gradients;
}

}  // namespace sink::ref
