// Attention in plain loops, in double: what the fast kernels are tested against and what a reader steps through, as in
// `break attention_row if h == 1 && i == 5`. The formulas are in attention.h. All tensors are F64.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/attention_sums.h"
#include "engine/ops/reference_row.h"
#include "engine/threads.h"

namespace sink::ref {

// The rows of a (B, H, T, D) tensor: that of one position, or one for each of some positions.
template <class Number>
struct Rows {
  Number* data;
  std::int64_t H, T, D;
  std::span<Number> operator()(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return {data + ((b * H + h) * T + t) * D, static_cast<std::size_t>(D)};
  }
  std::vector<std::span<Number>> operator()(std::int64_t b, std::int64_t h, const std::vector<std::int64_t>& ts) const {
    std::vector<std::span<Number>> rows;
    for (std::int64_t t : ts) rows.push_back((*this)(b, h, t));
    return rows;
  }
};
inline Rows<double> rows_of(Tensor& x) { return {x.data<double>(), x.dim(1), x.dim(2), x.dim(3)}; }
inline Rows<const double> rows_of(const Tensor& x) { return {x.data<double>(), x.dim(1), x.dim(2), x.dim(3)}; }

// Row h of a tensor of H rows that may be undefined; without numbers then.
template <class T>
auto head_row(T& x, std::int64_t h) {
  return row_of(x, h, x.defined() ? x.size() / x.dim(0) : 0);
}

inline double dot(Row x, Row y) {
  double sum = 0;
  for (std::size_t d = 0; d < x.size(); ++d) sum += x[d] * y[d];
  return sum;
}
// y += factor x
inline void add_scaled(double factor, Row x, std::span<double> y) {
  for (std::size_t d = 0; d < x.size(); ++d) y[d] += factor * x[d];
}

// What one head reads.
struct Head {
  Rows<const double> q, k, v;
  const AttentionConfig& config;
  Row bias, extra_k, extra_logit, extra_v;  // without numbers where there is none

  Head(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const AttentionConfig& config, std::int64_t h)
      : q(rows_of(q_BHTD)),
        k(rows_of(k_BGKD)),
        v(rows_of(v_BGKD)),
        config(config),
        bias(head_row(config.bias_HT, h)),
        extra_k(head_row(config.extra_key.k_HD, h)),
        extra_logit(head_row(config.extra_key.logit_H, h)),
        extra_v(head_row(config.extra_key.v_HD, h)) {}

  // The key and value head that query head h reads.
  std::int64_t group_of(std::int64_t h) const { return h / (q.H / k.H); }
  // The position of the query in row t, and the row of the query at position i.
  std::int64_t position(std::int64_t t) const { return config.first_position + t; }
  std::int64_t row(std::int64_t i) const { return i - config.first_position; }
  double bias_at(std::int64_t i, std::int64_t j) const { return bias.empty() ? 0 : bias[distance(i, j)]; }
  static std::size_t distance(std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, i - j));
  }
};

// The keys that query i of sequence b sees, in rising order; element n of s, a, ... below belongs to key keys[n].
inline std::vector<std::int64_t> keys_of(const Head& head, std::int64_t b, std::int64_t i) {
  std::vector<std::int64_t> keys;
  head.config.range_of(b).for_each_key(i, head.k.T, [&](std::int64_t j) { keys.push_back(j); });
  return keys;
}

// s_ij = scale q_i . k_j + bias_h[max(0, i - j)]; the score of an extra key comes after those of the keys.
inline std::vector<double> score_row(const Head& head, std::int64_t i, Row q, const std::vector<std::int64_t>& keys,
                                     const std::vector<Row>& k) {
  double scale = head.config.scale;
  std::vector<double> s;
  for (std::size_t n = 0; n < keys.size(); ++n) s.push_back(scale * dot(q, k[n]) + head.bias_at(i, keys[n]));
  if (!head.extra_k.empty()) s.push_back(scale * dot(q, head.extra_k));
  if (!head.extra_logit.empty()) s.push_back(head.extra_logit[0]);
  return s;
}

// The query at position i of head h: o_i, m_i and S_i.
template <class Op>
[[gnu::noinline]] void attention_row(const Op& op, const Head& head, std::int64_t b, std::int64_t h, std::int64_t i,
                                     std::span<double> o, double* m_i, double* S_i) {
  // What is read: q_i, and k_j and v_j of the keys that it sees
  std::int64_t g = head.group_of(h);
  std::vector<std::int64_t> keys = keys_of(head, b, i);
  Row q = head.q(b, h, head.row(i));
  std::vector<Row> k = head.k(b, g, keys), v = head.v(b, g, keys);

  // 1. Scores: s_ij = q_i . k_j / sqrt(d_h)
  std::vector<double> s = score_row(head, i, q, keys, k);

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
  for (double& o_d : o) o_d = 0;
  for (std::size_t j = 0; j < keys.size(); ++j) add_scaled(a[j], v[j], o);
  if (!head.extra_v.empty()) add_scaled(a.back(), head.extra_v, o);
  *m_i = m;
  *S_i = S;
}

// Where the gradients of one head go; without numbers where there is none.
struct HeadGradients {
  Rows<double> dq, dk, dv;
  std::span<double> dbias, dextra_k, dextra_logit, dextra_v;

  HeadGradients(AttentionGradients& gradients, std::int64_t h)
      : dq(rows_of(gradients.dq_BHTD)),
        dk(rows_of(gradients.dk_BGKD)),
        dv(rows_of(gradients.dv_BGKD)),
        dbias(head_row(gradients.dbias_HT, h)),
        dextra_k(head_row(gradients.dextra_k_HD, h)),
        dextra_logit(head_row(gradients.dextra_logit_H, h)),
        dextra_v(head_row(gradients.dextra_v_HD, h)) {}
};

// The gradients through one query, passes 5 to 1 of attention_row: adds to dq_i, to the rows of dk and dv and to what
// all rows share. (`do`, the gradient of o, is a word of C++.)
template <class Op>
[[gnu::noinline]] void attention_row_backward(const Op& op, const Head& head, Row do_i, double m, double S,
                                              std::int64_t b, std::int64_t h, std::int64_t i,
                                              const HeadGradients& gradients) {
  std::int64_t g = head.group_of(h);
  std::vector<std::int64_t> keys = keys_of(head, b, i);
  Row q = head.q(b, h, head.row(i));
  std::vector<Row> k = head.k(b, g, keys), v = head.v(b, g, keys);
  std::span<double> dq = gradients.dq(b, h, head.row(i));
  std::vector<std::span<double>> dk = gradients.dk(b, g, keys), dv = gradients.dv(b, g, keys);
  std::vector<double> s = score_row(head, i, q, keys, k);
  AttentionRow row(op, m, S, static_cast<double>(keys.size()));
  double z = row.z(), scale = head.config.scale;

  // 5. o_i = sum_j a_ij v_j
  std::vector<double> w, a, da;
  for (double s_j : s) w.push_back(row.g(s_j - m) / z);
  for (double w_j : w) a.push_back(row.post(w_j));
  for (std::size_t j = 0; j < keys.size(); ++j) {
    da.push_back(dot(do_i, v[j]));
    add_scaled(a[j], do_i, dv[j]);
  }
  if (head.config.extra_key.present()) da.push_back(head.extra_v.empty() ? 0 : dot(do_i, head.extra_v));
  if (!head.extra_v.empty()) add_scaled(a.back(), do_i, gradients.dextra_v);

  // 4. a_ij = post(w_ij)
  std::vector<double> dw;
  for (std::size_t j = 0; j < s.size(); ++j) dw.push_back(row.dpost(w[j]) * da[j]);

  // 3. w_ij = g(s_ij - m_i) / z(S_i), S_i = sum_j r(s_ij - m_i)
  // Score s_ij moves w_ij through g, and every w_ik through S_i; the second part sums up to
  // r' sum_k dw_ik w_ik z'(S_i) / z(S_i).
  double D_i = 0;
  for (std::size_t j = 0; j < s.size(); ++j) D_i += w[j] * dw[j];
  std::vector<double> ds;
  for (std::size_t j = 0; j < s.size(); ++j) {
    double x = s[j] - m;
    ds.push_back((row.dg(x) * dw[j] - row.dr(x) * row.dz() * D_i) / z);
  }

  // 1. s_ij = scale q_i . k_j + bias_h[max(0, i - j)]; nothing flows through m_i (2.)
  for (std::size_t j = 0; j < keys.size(); ++j) {
    add_scaled(scale * ds[j], k[j], dq);
    add_scaled(scale * ds[j], q, dk[j]);
    if (!head.bias.empty()) gradients.dbias[head.distance(i, keys[j])] += ds[j];
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
  std::vector<std::int64_t> keys = keys_of(head, b, i);
  std::vector<double> s = score_row(head, i, head.q(b, h, head.row(i)), keys, head.k(b, head.group_of(h), keys));
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
  Row q = head.q(b, h, head.row(i));
  for (std::int64_t j : keys_of(head, b, i)) {
    Row k_j = head.k(b, head.group_of(h), j);
    double qk = dot(q, k_j), norms = std::sqrt(dot(q, q) * dot(k_j, k_j));
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

// Adds what the first of the weights a_i of one query amounts to by the lengths of the values.
inline void add_first_share(const std::vector<double>& a, std::size_t E, const Head& head, std::int64_t b,
                            std::int64_t h, FirstShare& share) {
  auto length = [](const Row& x) { return std::sqrt(dot(x, x)); };
  double all = head.extra_v.empty() ? 0 : std::abs(a[0]) * length(head.extra_v), first = 0;
  for (std::size_t n = E; n < a.size(); ++n) {
    double part = std::abs(a[n]) * length(head.v(b, head.group_of(h), static_cast<std::int64_t>(n - E)));
    if (n == E) first = part;
    all += part;
  }
  share.add(first, all);
}

template <class Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                         const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                                         std::int64_t n_columns) {
  AttentionStatistics statistics = attention_check::zero_statistics(q_BHTD, n_columns);
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    std::int64_t b = bh / H, h = bh % H;
    Head head(q_BHTD, k_BGKD, v_BGKD, config, h);
    KeyRange range = config.range_of(b);
    HeadStatistics sums = head_statistics(statistics, bh);
    AngleSums first_key, other_keys;
    FirstShare share;
    for (std::int64_t t = 0; t < T; ++t) {
      std::int64_t i = head.position(t);
      double m = m_BHT.data<double>()[bh * T + t], S = S_BHT.data<double>()[bh * T + t], mass = 0;
      std::vector<double> a = weight_row(op, head, m, S, b, h, i);
      for (double a_j : a) mass += std::abs(a_j);
      double n = static_cast<double>(range.count(i, head.k.T));
      double divisor = proxy_divisor(op, mass, AttentionRow(op, m, S, n).z());
      add_weights(a, config.extra_key.present() ? 1 : 0, divisor, static_cast<double>(T), n_columns, sums);
      if (i == 0) continue;
      add_angles(head, b, h, i, first_key, other_keys);
      if (range.sees(i, 0)) add_first_share(a, config.extra_key.present() ? 1 : 0, head, b, h, share);
    }
    sums.set_angles(first_key, other_keys);
    sums.value_share = share.mean();
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
