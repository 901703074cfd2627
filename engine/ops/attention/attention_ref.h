// Attention in plain loops, in double: what the fast kernels are tested against and what a reader steps through, as in
// `break attention_row if h == 2 && i == 5`. The formulas are in attention.h. All tensors are F64.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/attention_sums.h"
#include "engine/threads.h"

namespace sink::ref {

// One (B, H, T, D) tensor's numbers, and the row of one position.
template <class Number>
struct Rows {
  Number* data;
  std::int64_t H, T, D;
  Number* operator()(std::int64_t b, std::int64_t h, std::int64_t t) const { return data + ((b * H + h) * T + t) * D; }
};
inline Rows<double> rows_of(Tensor& x) { return {x.data<double>(), x.dim(1), x.dim(2), x.dim(3)}; }
inline Rows<const double> rows_of(const Tensor& x) { return {x.data<double>(), x.dim(1), x.dim(2), x.dim(3)}; }

// Row h of a tensor of H rows that may be undefined; null then.
inline const double* row_of(const Tensor& x, std::int64_t h) {
  return x.defined() ? x.data<double>() + h * (x.size() / x.dim(0)) : nullptr;
}
inline double* row_of(Tensor& x, std::int64_t h) {
  return x.defined() ? x.data<double>() + h * (x.size() / x.dim(0)) : nullptr;
}

inline double dot(const double* x, const double* y, std::int64_t D) {
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += x[d] * y[d];
  return sum;
}
// y += factor x
inline void add_scaled(double factor, const double* x, double* y, std::int64_t D) {
  for (std::int64_t d = 0; d < D; ++d) y[d] += factor * x[d];
}

// What one head reads.
struct Head {
  Rows<const double> q, k, v;
  const AttentionConfig& config;
  const double *bias, *extra_k, *extra_logit, *extra_v;  // null where there is none

  Head(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const AttentionConfig& config, std::int64_t h)
      : q(rows_of(q_BHTD)),
        k(rows_of(k_BGKD)),
        v(rows_of(v_BGKD)),
        config(config),
        bias(row_of(config.bias_HT, h)),
        extra_k(row_of(config.extra_key.k_HD, h)),
        extra_logit(row_of(config.extra_key.logit_H, h)),
        extra_v(row_of(config.extra_key.v_HD, h)) {}

  // The key and value head that query head h reads.
  std::int64_t group_of(std::int64_t h) const { return h / (q.H / k.H); }
  // The position of the query in row t, and the row of the query at position i.
  std::int64_t position(std::int64_t t) const { return config.first_position + t; }
  std::int64_t row(std::int64_t i) const { return i - config.first_position; }
  double bias_at(std::int64_t i, std::int64_t j) const { return bias ? bias[std::max<std::int64_t>(0, i - j)] : 0; }
};

// The keys that query i sees, in rising order; element n of s, a, ... below belongs to key keys[n].
inline std::vector<std::int64_t> keys_of(const Head& head, std::int64_t i) {
  std::vector<std::int64_t> keys;
  head.config.range.for_each_key(i, head.k.T, [&](std::int64_t j) { keys.push_back(j); });
  return keys;
}

// s_ij = scale q_i . k_j + bias_h[max(0, i - j)]; the score of an extra key comes after those of the keys.
inline std::vector<double> score_row(const Head& head, std::int64_t b, std::int64_t h, std::int64_t i,
                                     const std::vector<std::int64_t>& keys) {
  double scale = head.config.scale;
  const double* q_i = head.q(b, h, head.row(i));
  std::vector<double> s;
  for (std::int64_t j : keys)
    s.push_back(scale * dot(q_i, head.k(b, head.group_of(h), j), head.q.D) + head.bias_at(i, j));
  if (head.extra_k) s.push_back(scale * dot(q_i, head.extra_k, head.q.D));
  if (head.extra_logit) s.push_back(*head.extra_logit);
  return s;
}

// The query at position i of head h: o_i, m_i and S_i.
template <class Op>
[[gnu::noinline]] void attention_row(const Op& op, const Head& head, std::int64_t b, std::int64_t h, std::int64_t i,
                                     double* o_i, double* m_i, double* S_i) {
  // 1. Scores: s_ij = q_i . k_j / sqrt(d_h)
  std::vector<std::int64_t> keys = keys_of(head, i);
  std::vector<double> s = score_row(head, b, h, i, keys);

  // 2. What is subtracted: m_i
  double n = static_cast<double>(keys.size());
  double m = first_m(op, n);
  for (double s_j : s) m = raised_m(op, m, s_j);

  // 3. The sum: S_i = sum_j r(s_ij - m_i)
  double S = 0;
  for (double s_j : s) S += AttentionRow(op, m).r(s_j - m);

  // 4. Weights: a_ij = post(g(s_ij - m_i) / z(S_i, n_i))
  AttentionRow row(op, m, S, n);
  double z = row.z();
  std::vector<double> a;
  for (double s_j : s) a.push_back(row.post(row.g(s_j - m) / z));

  // 5. Output: o_i = sum_j a_ij v_j
  for (std::int64_t d = 0; d < head.v.D; ++d) o_i[d] = 0;
  for (std::size_t j = 0; j < keys.size(); ++j) add_scaled(a[j], head.v(b, head.group_of(h), keys[j]), o_i, head.v.D);
  if (head.extra_v) add_scaled(a.back(), head.extra_v, o_i, head.v.D);
  *m_i = m;
  *S_i = S;
}

// Where the gradients of one head go; null where there is none.
struct HeadGradients {
  Rows<double> dq, dk, dv;
  double *dbias, *dextra_k, *dextra_logit, *dextra_v;

  HeadGradients(AttentionGradients& gradients, std::int64_t h)
      : dq(rows_of(gradients.dq_BHTD)),
        dk(rows_of(gradients.dk_BGKD)),
        dv(rows_of(gradients.dv_BGKD)),
        dbias(row_of(gradients.dbias_HT, h)),
        dextra_k(row_of(gradients.dextra_k_HD, h)),
        dextra_logit(row_of(gradients.dextra_logit_H, h)),
        dextra_v(row_of(gradients.dextra_v_HD, h)) {}
};

// The gradients through one query, passes 5 to 1 of attention_row: adds to dq_i, to the rows of dk and dv and to what
// all rows share.
template <class Op>
[[gnu::noinline]] void attention_row_backward(const Op& op, const Head& head, const double* do_i, double m, double S,
                                              std::int64_t b, std::int64_t h, std::int64_t i,
                                              const HeadGradients& gradients) {
  const double* q_i = head.q(b, h, head.row(i));
  double *dq_i = gradients.dq(b, h, head.row(i)), scale = head.config.scale;
  std::int64_t D = head.q.D, g = head.group_of(h);
  std::vector<std::int64_t> keys = keys_of(head, i);
  std::vector<double> s = score_row(head, b, h, i, keys);
  AttentionRow row(op, m, S, static_cast<double>(keys.size()));
  double z = row.z();

  // 5. o_i = sum_j a_ij v_j
  std::vector<double> w, da;
  for (double s_j : s) w.push_back(row.g(s_j - m) / z);
  for (std::size_t n = 0; n < keys.size(); ++n) {
    da.push_back(dot(do_i, head.v(b, g, keys[n]), D));
    add_scaled(row.post(w[n]), do_i, gradients.dv(b, g, keys[n]), D);
  }
  if (head.config.extra_key.present()) da.push_back(head.extra_v ? dot(do_i, head.extra_v, D) : 0);
  if (head.extra_v) add_scaled(row.post(w.back()), do_i, gradients.dextra_v, D);

  // 4. a_ij = post(w_ij)
  std::vector<double> dw;
  for (std::size_t n = 0; n < s.size(); ++n) dw.push_back(row.dpost(w[n]) * da[n]);

  // 3. w_ij = g(s_ij - m_i) / z(S_i), S_i = sum_j r(s_ij - m_i)
  // Score s_ij moves w_ij through g, and every w_ik through S_i; the second part sums up to
  // r' sum_k dw_ik w_ik z'(S_i) / z(S_i).
  double D_i = 0;
  for (std::size_t n = 0; n < s.size(); ++n) D_i += w[n] * dw[n];
  std::vector<double> ds;
  for (std::size_t n = 0; n < s.size(); ++n) {
    double x = s[n] - m;
    ds.push_back((row.dg(x) * dw[n] - row.dr(x) * row.dz() * D_i) / z);
  }

  // 1. s_ij = scale q_i . k_j + bias_h[max(0, i - j)]; nothing flows through m_i (2.)
  for (std::size_t n = 0; n < keys.size(); ++n) {
    add_scaled(scale * ds[n], head.k(b, g, keys[n]), dq_i, D);
    add_scaled(scale * ds[n], q_i, gradients.dk(b, g, keys[n]), D);
    if (head.bias) gradients.dbias[std::max<std::int64_t>(0, i - keys[n])] += ds[n];
  }
  if (head.extra_k) {
    add_scaled(scale * ds.back(), head.extra_k, dq_i, D);
    add_scaled(scale * ds.back(), q_i, gradients.dextra_k, D);
  }
  if (head.extra_logit) *gradients.dextra_logit += ds.back();
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
  // Query heads of one group, and all sequences, add to the same numbers.
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

// a_i of one query as a row of E + K numbers, the extra key's (E = 1) or none (E = 0) and the keys'; zero for keys it
// does not see.
template <class Op>
std::vector<double> weight_row(const Op& op, const Head& head, double m, double S, std::int64_t b, std::int64_t h,
                               std::int64_t i) {
  std::vector<std::int64_t> keys = keys_of(head, i);
  std::vector<double> s = score_row(head, b, h, i, keys);
  AttentionRow row(op, m, S, static_cast<double>(keys.size()));
  double z = row.z();
  std::size_t E = head.config.extra_key.present() ? 1 : 0;
  std::vector<double> a(E + static_cast<std::size_t>(head.k.T), 0.0);
  for (std::size_t n = 0; n < s.size(); ++n) {
    std::size_t column = n < keys.size() ? E + static_cast<std::size_t>(keys[n]) : 0;
    a[column] = row.post(row.g(s[n] - m) / z);
  }
  return a;
}

// Adds the dot products, products of norms and cosines of query i with the keys it sees.
inline void add_angles(const Head& head, std::int64_t b, std::int64_t h, std::int64_t i, AngleSums& first_key,
                       AngleSums& other_keys) {
  const double* q_i = head.q(b, h, head.row(i));
  std::int64_t D = head.q.D;
  for (std::int64_t j : keys_of(head, i)) {
    const double* k_j = head.k(b, head.group_of(h), j);
    double qk = dot(q_i, k_j, D), norms = std::sqrt(dot(q_i, q_i, D) * dot(k_j, k_j, D));
    (j == 0 ? first_key : other_keys).add(1, qk, norms, norms > 0 ? qk / norms : 0);
  }
}

// Adds the weights a_i of one query, and their proxies |a_ij| / divisor, to the sums of its head.
inline void add_weights(const std::vector<double>& a, std::size_t E, double divisor, double rows, std::int64_t X,
                        HeadStatistics& sums) {
  for (std::size_t n = 0; n < a.size(); ++n) {
    double proxy = std::abs(a[n]) / divisor;
    if (proxy > 0) sums.entropy -= proxy * std::log(proxy) / rows;
    if (n < E) {
      sums.extra_raw += a[n];
      sums.extra_proxy += proxy;
      continue;
    }
    sums.row_mass += a[n] / rows;
    if (static_cast<std::int64_t>(n - E) < X) sums.column_raw[n - E] += a[n];
    if (static_cast<std::int64_t>(n - E) < X) sums.column_proxy[n - E] += proxy;
  }
}

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t n_columns) {
  AttentionStatistics statistics = attention_check::zero_statistics(q_BHTD, n_columns);
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    std::int64_t b = bh / H, h = bh % H;
    Head head(q_BHTD, k_BGKD, k_BGKD, config, h);
    HeadStatistics sums = head_statistics(statistics, bh);
    AngleSums first_key, other_keys;
    for (std::int64_t t = 0; t < T; ++t) {
      std::int64_t i = head.position(t);
      double m = m_BHT.data<double>()[bh * T + t], S = S_BHT.data<double>()[bh * T + t], mass = 0;
      std::vector<double> a = weight_row(op, head, m, S, b, h, i);
      for (double a_j : a) mass += std::abs(a_j);
      double n = static_cast<double>(config.range.count(i, head.k.T));
      double divisor = proxy_divisor(op, mass, AttentionRow(op, m, S, n).z());
      add_weights(a, config.extra_key.present() ? 1 : 0, divisor, static_cast<double>(T), n_columns, sums);
      if (i > 0) add_angles(head, b, h, i, first_key, other_keys);
    }
    sums.set_angles(first_key, other_keys);
  });
  return statistics;
}

template <class Op>
Tensor attention_map(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT, const Tensor& S_BHT,
                     const AttentionConfig& config, std::int64_t b, std::int64_t h) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), columns = k_BGKD.dim(2) + (config.extra_key.present() ? 1 : 0);
  Head head(q_BHTD, k_BGKD, k_BGKD, config, h);
  const double *m = m_BHT.data<double>() + (b * H + h) * T, *S = S_BHT.data<double>() + (b * H + h) * T;
  Tensor a = Tensor::empty({T, columns}, DType::F64);
  for (std::int64_t t = 0; t < T; ++t) {
    std::vector<double> a_i = weight_row(op, head, m[t], S[t], b, h, head.position(t));
    std::copy(a_i.begin(), a_i.end(), a.data<double>() + t * columns);
  }
  return a;
}

}  // namespace sink::ref
