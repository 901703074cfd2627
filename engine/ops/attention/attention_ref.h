// Attention in plain loops: what the fast kernels are tested against and what a reader steps through, as in
// `break attention_row if h == 2 && i == 5`. The formulas are in attention.h.
#pragma once

#include <cmath>
#include <vector>

#include "engine/ops/attention/attention.h"
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

template <class R>
R dot(const R* x, const R* y, std::int64_t D) {
  R sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += x[d] * y[d];
  return sum;
}

// The keys query i sees, in rising order; element n of s, a, ... below belongs to key keys[n].
inline std::vector<std::int64_t> keys_of(const KeyRange& range, std::int64_t i, std::int64_t T) {
  std::vector<std::int64_t> keys;
  range.for_each_key(i, T, [&](std::int64_t j) { keys.push_back(j); });
  return keys;
}

// s_ij = scale q_i . k_j
template <class R>
std::vector<R> score_row(Rows<const R> q, Rows<const R> k, const AttentionConfig& config, std::int64_t b,
                         std::int64_t h, std::int64_t i, const std::vector<std::int64_t>& keys) {
  std::vector<R> s;
  for (std::int64_t j : keys) s.push_back(static_cast<R>(config.scale) * dot(q(b, h, i), k(b, h, j), q.D));
  return s;
}

// One query: o_i, m_i and S_i.
template <class Op, class R>
[[gnu::noinline]] void attention_row(Rows<const R> q, Rows<const R> k, Rows<const R> v, const AttentionConfig& config,
                                     std::int64_t b, std::int64_t h, std::int64_t i, R* o_i, R* m_i, R* S_i) {
  std::vector<std::int64_t> keys = keys_of(config.range, i, q.T);

  std::vector<R> s = score_row(q, k, config, b, h, i, keys);

  R m = 0;
  if (Op::shift_by_row_max) {
    m = s[0];
    for (R s_j : s) m = s_j > m ? s_j : m;
  }

  R S = 0;
  for (R s_j : s) S += Op::g(s_j - m);

  std::vector<R> a;
  for (R s_j : s) a.push_back(Op::g(s_j - m) / Op::z(S));

  for (std::int64_t d = 0; d < v.D; ++d) {
    R o_d = 0;
    for (std::size_t n = 0; n < keys.size(); ++n) o_d += a[n] * v(b, h, keys[n])[d];
    o_i[d] = o_d;
  }
  *m_i = m;
  *S_i = S;
}

// The gradients through one query: writes dq_i and adds to the rows of dk and dv.
template <class Op, class R>
[[gnu::noinline]] void attention_row_backward(Rows<const R> grad_o, Rows<const R> q, Rows<const R> k, Rows<const R> v,
                                              Rows<const R> o, R m, R S, const AttentionConfig& config, std::int64_t b,
                                              std::int64_t h, std::int64_t i, Rows<R> dq, Rows<R> dk, Rows<R> dv) {
  const R* do_i = grad_o(b, h, i);
  const R* q_i = q(b, h, i);
  R* dq_i = dq(b, h, i);
  R scale = static_cast<R>(config.scale);
  std::vector<std::int64_t> keys = keys_of(config.range, i, q.T);
  std::vector<R> s = score_row(q, k, config, b, h, i, keys);

  // o_i = sum_j a_ij v_j
  std::vector<R> da;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    R a_j = Op::g(s[n] - m) / Op::z(S);
    da.push_back(dot(do_i, v(b, h, keys[n]), v.D));
    R* dv_j = dv(b, h, keys[n]);
    for (std::int64_t d = 0; d < v.D; ++d) dv_j[d] += a_j * do_i[d];
  }

  // a_ij = g(s_ij - m_i) / z(S_i), S_i = sum_j g(s_ij - m_i)
  // Score s_ij moves a_ij through g, and every a_ik through S_i; the second part sums up to
  // sum_k da_ik a_ik z'(S_i) / z(S_i), and sum_k da_ik a_ik = do_i . sum_k a_ik v_k = do_i . o_i = D_i.
  R D_i = dot(do_i, o(b, h, i), v.D);
  std::vector<R> ds;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    R x = s[n] - m;
    R dg = Op::dg(x, Op::g(x));
    ds.push_back(dg * (da[n] - Op::dz(S) * D_i) / Op::z(S));
  }

  // s_ij = scale q_i . k_j
  for (std::int64_t d = 0; d < q.D; ++d) dq_i[d] = 0;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    const R* k_j = k(b, h, keys[n]);
    R* dk_j = dk(b, h, keys[n]);
    for (std::int64_t d = 0; d < q.D; ++d) {
      dq_i[d] += scale * ds[n] * k_j[d];
      dk_j[d] += scale * ds[n] * q_i[d];
    }
  }
}

template <class Op, class R>
void attention(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD, const AttentionConfig& config,
               Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2);
  Rows<R> o = rows_of<R>(o_BHTD);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    for (std::int64_t i = 0; i < T; ++i) {
      attention_row<Op, R>(rows_of<R>(q_BHTD), rows_of<R>(k_BHTD), rows_of<R>(v_BHTD), config, bh / H, bh % H, i,
                           o(bh / H, bh % H, i), m_BHT.data<R>() + bh * T + i, S_BHT.data<R>() + bh * T + i);
    }
  });
}

template <class Op, class R>
void attention_backward(const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD,
                        const Tensor& o_BHTD, const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                        Tensor& dq_BHTD, Tensor& dk_BHTD, Tensor& dv_BHTD) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2);
  Rows<R> dq = rows_of<R>(dq_BHTD), dk = rows_of<R>(dk_BHTD), dv = rows_of<R>(dv_BHTD);
  dk_BHTD.fill(0);
  dv_BHTD.fill(0);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    for (std::int64_t i = 0; i < T; ++i) {
      R m = m_BHT.data<R>()[bh * T + i], S = S_BHT.data<R>()[bh * T + i];
      attention_row_backward<Op, R>(rows_of<R>(do_BHTD), rows_of<R>(q_BHTD), rows_of<R>(k_BHTD), rows_of<R>(v_BHTD),
                                    rows_of<R>(o_BHTD), m, S, config, bh / H, bh % H, i, dq, dk, dv);
    }
  });
}

// a_i of one query as a row of T numbers, zero for keys it does not see.
template <class Op, class R>
std::vector<R> weight_row(Rows<const R> q, Rows<const R> k, R m, R S, const AttentionConfig& config, std::int64_t b,
                          std::int64_t h, std::int64_t i) {
  std::vector<std::int64_t> keys = keys_of(config.range, i, q.T);
  std::vector<R> s = score_row(q, k, config, b, h, i, keys);
  std::vector<R> a(static_cast<std::size_t>(q.T), R(0));
  for (std::size_t n = 0; n < keys.size(); ++n) a[static_cast<std::size_t>(keys[n])] = Op::g(s[n] - m) / Op::z(S);
  return a;
}

// Adds to the (already zeroed) statistics of attention.h.
template <class Op, class R>
void attention_statistics(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& m_BHT, const Tensor& S_BHT,
                          const AttentionConfig& config, AttentionStatistics& statistics) {
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), K = statistics.column_raw_BHK.dim(2);
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    double* raw_k = statistics.column_raw_BHK.data<double>() + bh * K;
    double* proxy_k = statistics.column_proxy_BHK.data<double>() + bh * K;
    for (std::int64_t i = 0; i < T; ++i) {
      R m = m_BHT.data<R>()[bh * T + i], S = S_BHT.data<R>()[bh * T + i];
      std::vector<R> a = weight_row<Op, R>(rows_of<R>(q_BHTD), rows_of<R>(k_BHTD), m, S, config, bh / H, bh % H, i);
      double mass = 0, absolute_mass = 0, entropy = 0;
      for (R a_j : a) mass += a_j;
      for (R a_j : a) absolute_mass += std::abs(a_j);
      for (std::int64_t j = 0; j < T; ++j) {
        double proxy = std::abs(a[j]) / proxy_divisor<Op>(absolute_mass);
        if (proxy > 0) entropy -= proxy * std::log(proxy);
        if (j < K) raw_k[j] += a[j];
        if (j < K) proxy_k[j] += proxy;
      }
      statistics.row_mass_BH.data<double>()[bh] += mass / T;
      statistics.entropy_BH.data<double>()[bh] += entropy / T;
    }
  });
}

}  // namespace sink::ref
