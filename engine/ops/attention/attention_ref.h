// Attention in plain loops: what the fast kernels are tested against and what a reader steps through, as in
// `break attention_row if h == 2 && i == 5`. The formulas are in attention.h.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_sums.h"
#include "engine/threads.h"

namespace sink::ref {

// One (B, H, T, D) tensor's numbers, and the row of one position.
template <class R>
struct Rows {
  R* data;
  std::int64_t H, T, D;
  R* operator()(std::int64_t b, std::int64_t h, std::int64_t i) const { return data + ((b * H + h) * T + i) * D; }
};
template <class R>
Rows<R> rows_of(Tensor& x_BHTD) {
  return {x_BHTD.data<R>(), x_BHTD.dim(1), x_BHTD.dim(2), x_BHTD.dim(3)};
}
template <class R>
Rows<const R> rows_of(const Tensor& x_BHTD) {
  return {x_BHTD.data<R>(), x_BHTD.dim(1), x_BHTD.dim(2), x_BHTD.dim(3)};
}

// Row h of a tensor of H rows that may be undefined; null then.
template <class R>
const R* row_of(const Tensor& x, std::int64_t h) {
  return x.defined() ? x.data<R>() + h * (x.size() / x.dim(0)) : nullptr;
}
template <class R>
R* row_of(Tensor& x, std::int64_t h) {
  return x.defined() ? x.data<R>() + h * (x.size() / x.dim(0)) : nullptr;
}

template <class R>
R dot(const R* x, const R* y, std::int64_t D) {
  R sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += x[d] * y[d];
  return sum;
}
// y += factor x
template <class R>
void add_scaled(R factor, const R* x, R* y, std::int64_t D) {
  for (std::int64_t d = 0; d < D; ++d) y[d] += factor * x[d];
}

// What one head reads.
template <class R>
struct Head {
  Rows<const R> q, k, v;
  const AttentionConfig& config;
  std::int64_t b, h, g;                              // g: the head's key and value head
  const R *bias, *slot_k, *slot_logit, *slot_value;  // null where there is none

  Head(const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& v_BGTD, const AttentionConfig& config, std::int64_t h)
      : q(rows_of<R>(q_BHTD)),
        k(rows_of<R>(k_BGTD)),
        v(rows_of<R>(v_BGTD)),
        config(config),
        bias(row_of<R>(config.bias_HT, h)),
        slot_k(row_of<R>(config.slot.k_HD, h)),
        slot_logit(row_of<R>(config.slot.logit_H, h)),
        slot_value(row_of<R>(config.slot.v_HD, h)) {}

  // The key and value head that query head h reads.
  std::int64_t group_of(std::int64_t h) const { return h / (q.H / k.H); }
};

// The keys query i sees, in rising order; element n of s, a, ... below belongs to key keys[n].
inline std::vector<std::int64_t> keys_of(const KeyRange& range, std::int64_t i, std::int64_t T) {
  std::vector<std::int64_t> keys;
  range.for_each_key(i, T, [&](std::int64_t j) { keys.push_back(j); });
  return keys;
}

// s_ij = scale q_i . k_j + bias_h[max(0, i - j)]; with a slot, its score comes after those of the keys.
template <class R>
std::vector<R> score_row(const Head<R>& head, std::int64_t b, std::int64_t h, std::int64_t i,
                         const std::vector<std::int64_t>& keys) {
  R scale = static_cast<R>(head.config.scale);
  const R* q_i = head.q(b, h, i);
  std::vector<R> s;
  for (std::int64_t j : keys) {
    s.push_back(scale * dot(q_i, head.k(b, head.group_of(h), j), head.q.D));
    if (head.bias) s.back() += head.bias[std::max<std::int64_t>(0, i - j)];
  }
  if (head.slot_k) s.push_back(scale * dot(q_i, head.slot_k, head.q.D));
  if (head.slot_logit) s.push_back(*head.slot_logit);
  return s;
}

// One query: o_i, m_i and S_i.
template <class Op, class R>
[[gnu::noinline]] void attention_row(const Op& op, const Head<R>& head, std::int64_t b, std::int64_t h, std::int64_t i,
                                     R* o_i, R* m_i, R* S_i) {
  std::vector<std::int64_t> keys = keys_of(head.config.range, i, head.q.T);

  std::vector<R> s = score_row(head, b, h, i, keys);

  R count = static_cast<R>(keys.size());
  R m = first_m(op, count);
  for (R s_j : s) m = raised_m(op, m, s_j);

  AttentionRow row(op, m);
  R S = 0;
  for (R s_j : s) S += row.r(s_j - m);

  R z = AttentionRow(op, m, S, count).z();
  std::vector<R> a;
  for (R s_j : s) a.push_back(row.post(row.g(s_j - m) / z));

  for (std::int64_t d = 0; d < head.v.D; ++d) o_i[d] = 0;
  for (std::size_t n = 0; n < keys.size(); ++n) add_scaled(a[n], head.v(b, head.group_of(h), keys[n]), o_i, head.v.D);
  if (head.slot_value) add_scaled(a.back(), head.slot_value, o_i, head.v.D);
  *m_i = m;
  *S_i = S;
}

// Where the gradients of one head go; null where there is none.
template <class R>
struct HeadGradients {
  Rows<R> dq, dk, dv;
  R *dbias, *dslot_k, *dslot_logit, *dslot_value;

  HeadGradients(AttentionGradients& gradients, std::int64_t h)
      : dq(rows_of<R>(gradients.dq_BHTD)),
        dk(rows_of<R>(gradients.dk_BGTD)),
        dv(rows_of<R>(gradients.dv_BGTD)),
        dbias(row_of<R>(gradients.dbias_HT, h)),
        dslot_k(row_of<R>(gradients.dslot_k_HD, h)),
        dslot_logit(row_of<R>(gradients.dslot_logit_H, h)),
        dslot_value(row_of<R>(gradients.dslot_v_HD, h)) {}
};

// The gradients through one query: adds to dq_i, to the rows of dk and dv and to what all rows share.
template <class Op, class R>
[[gnu::noinline]] void attention_row_backward(const Op& op, const Head<R>& head, const R* do_i, R m, R S,
                                              std::int64_t b, std::int64_t h, std::int64_t i,
                                              const HeadGradients<R>& gradients) {
  const R* q_i = head.q(b, h, i);
  R* dq_i = gradients.dq(b, h, i);
  R scale = static_cast<R>(head.config.scale);
  std::int64_t D = head.q.D, g = head.group_of(h);
  std::vector<std::int64_t> keys = keys_of(head.config.range, i, head.q.T);
  std::vector<R> s = score_row(head, b, h, i, keys);
  AttentionRow row(op, m, S, static_cast<R>(keys.size()));
  R z = row.z();

  // o_i = sum_j a_ij v_j
  std::vector<R> w, da;
  for (R s_j : s) w.push_back(row.g(s_j - m) / z);
  for (std::size_t n = 0; n < keys.size(); ++n) {
    da.push_back(dot(do_i, head.v(b, g, keys[n]), D));
    add_scaled(row.post(w[n]), do_i, gradients.dv(b, g, keys[n]), D);
  }
  if (head.config.slot.present()) da.push_back(head.slot_value ? dot(do_i, head.slot_value, D) : R(0));
  if (head.slot_value) add_scaled(row.post(w.back()), do_i, gradients.dslot_value, D);

  // a_ij = post(w_ij)
  std::vector<R> dw;
  for (std::size_t n = 0; n < s.size(); ++n) dw.push_back(row.dpost(w[n]) * da[n]);

  // w_ij = g(s_ij - m_i) / z(S_i), S_i = sum_j r(s_ij - m_i)
  // Score s_ij moves w_ij through g, and every w_ik through S_i; the second part sums up to
  // r' sum_k dw_ik w_ik z'(S_i) / z(S_i).
  R D_i = 0;
  for (std::size_t n = 0; n < s.size(); ++n) D_i += w[n] * dw[n];
  std::vector<R> ds;
  for (std::size_t n = 0; n < s.size(); ++n) {
    R x = s[n] - m;
    ds.push_back((row.dg(x) * dw[n] - row.dr(x) * row.dz() * D_i) / z);
  }

  // s_ij = scale q_i . k_j + bias_h[max(0, i - j)]
  for (std::size_t n = 0; n < keys.size(); ++n) {
    add_scaled(scale * ds[n], head.k(b, g, keys[n]), dq_i, D);
    add_scaled(scale * ds[n], q_i, gradients.dk(b, g, keys[n]), D);
    if (head.bias) gradients.dbias[std::max<std::int64_t>(0, i - keys[n])] += ds[n];
  }
  if (head.slot_k) {
    add_scaled(scale * ds.back(), head.slot_k, dq_i, D);
    add_scaled(scale * ds.back(), q_i, gradients.dslot_k, D);
  }
  if (head.slot_logit) *gradients.dslot_logit += ds.back();
}

template <class Op, class R>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& v_BGTD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2);
  Rows<R> o = rows_of<R>(o_BHTD);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    std::int64_t b = bh / H, h = bh % H;
    Head<R> head(q_BHTD, k_BGTD, v_BGTD, config, h);
    for (std::int64_t i = 0; i < T; ++i)
      attention_row<Op, R>(op, head, b, h, i, o(b, h, i), m_BHT.data<R>() + bh * T + i, S_BHT.data<R>() + bh * T + i);
  });
}

// Writes dq, dk and dv and adds to the other (already zeroed) gradients.
template <class Op, class R>
void attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGTD,
                        const Tensor& v_BGTD, const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                        AttentionGradients& gradients) {
  std::int64_t B = q_BHTD.dim(0), H = q_BHTD.dim(1), T = q_BHTD.dim(2), G = k_BGTD.dim(1);
  Rows<const R> grad_o = rows_of<R>(do_BHTD);
  for (Tensor* x : {&gradients.dq_BHTD, &gradients.dk_BGTD, &gradients.dv_BGTD}) x->fill(0);
  // Query heads of one group, and all sequences, add to the same numbers.
  parallel_for(G, [&](std::int64_t g) {
    for (std::int64_t h = g * (H / G); h < (g + 1) * (H / G); ++h) {
      HeadGradients<R> head_gradients(gradients, h);
      for (std::int64_t b = 0; b < B; ++b) {
        Head<R> head(q_BHTD, k_BGTD, v_BGTD, config, h);
        for (std::int64_t i = 0; i < T; ++i) {
          R m = m_BHT.data<R>()[(b * H + h) * T + i], S = S_BHT.data<R>()[(b * H + h) * T + i];
          attention_row_backward<Op, R>(op, head, grad_o(b, h, i), m, S, b, h, i, head_gradients);
        }
      }
    }
  });
}

// a_i of one query as a row of E + T numbers, the slot's (E = 1) or none (E = 0) and the keys'; zero for keys it does
// not see.
template <class Op, class R>
std::vector<R> weight_row(const Op& op, const Head<R>& head, R m, R S, std::int64_t b, std::int64_t h, std::int64_t i) {
  std::vector<std::int64_t> keys = keys_of(head.config.range, i, head.q.T);
  std::vector<R> s = score_row(head, b, h, i, keys);
  AttentionRow row(op, m, S, static_cast<R>(keys.size()));
  R z = row.z();
  std::size_t E = head.config.slot.present() ? 1 : 0;
  std::vector<R> a(E + static_cast<std::size_t>(head.q.T), R(0));
  for (std::size_t n = 0; n < s.size(); ++n) {
    std::size_t column = n < keys.size() ? E + static_cast<std::size_t>(keys[n]) : 0;
    a[column] = row.post(row.g(s[n] - m) / z);
  }
  return a;
}

// Adds the dot products, products of norms and cosines of query i with the keys it sees.
template <class R>
void add_angles(const Head<R>& head, std::int64_t b, std::int64_t h, std::int64_t i, AngleSums& first_key,
                AngleSums& other_keys) {
  const R* q_i = head.q(b, h, i);
  std::int64_t D = head.q.D;
  for (std::int64_t j : keys_of(head.config.range, i, head.q.T)) {
    const R* k_j = head.k(b, head.group_of(h), j);
    double qk = dot(q_i, k_j, D), norms = std::sqrt(static_cast<double>(dot(q_i, q_i, D)) * dot(k_j, k_j, D));
    (j == 0 ? first_key : other_keys).add(1, qk, norms, norms > 0 ? qk / norms : 0);
  }
}

// Adds to the (already zeroed) statistics of attention.h.
template <class Op, class R>
void attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& m_BHT,
                          const Tensor& S_BHT, const AttentionConfig& config, AttentionStatistics& statistics) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), K = statistics.column_raw_BHK.dim(2);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    std::int64_t b = bh / H, h = bh % H;
    Head<R> head(q_BHTD, k_BGTD, k_BGTD, config, h);
    HeadStatistics sums = head_statistics(statistics, bh);
    std::size_t E = config.slot.present() ? 1 : 0;
    AngleSums first_key, other_keys;
    for (std::int64_t i = 0; i < T; ++i) {
      R m = m_BHT.data<R>()[bh * T + i], S = S_BHT.data<R>()[bh * T + i];
      std::vector<R> a = weight_row<Op, R>(op, head, m, S, b, h, i);
      double absolute_mass = 0, entropy = 0;
      for (R a_j : a) absolute_mass += std::abs(a_j);
      R n_keys = static_cast<R>(config.range.count(i, T));
      double divisor = proxy_divisor(op, absolute_mass, AttentionRow(op, m, S, n_keys).z());
      for (std::size_t n = 0; n < a.size(); ++n) {
        double proxy = std::abs(a[n]) / divisor;
        if (proxy > 0) entropy -= proxy * std::log(proxy);
        std::int64_t j = static_cast<std::int64_t>(n) - static_cast<std::int64_t>(E);
        if (j < 0) {
          sums.slot_raw += a[n];
          sums.slot_proxy += proxy;
          continue;
        }
        sums.row_mass += a[n] / T;
        if (j < K) sums.column_raw[j] += a[n];
        if (j < K) sums.column_proxy[j] += proxy;
      }
      sums.entropy += entropy / T;
      if (i > 0) add_angles(head, b, h, i, first_key, other_keys);
    }
    sums.set_angles(first_key, other_keys);
  });
}

}  // namespace sink::ref
