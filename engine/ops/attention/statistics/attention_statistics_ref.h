// The statistics and the attention pattern of attention.h in plain loops, in double, from the weights of each row.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/ops/attention/ref/attention_head_ref.h"
#include "engine/ops/attention/statistics/attention_sums.h"
#include "engine/threads.h"

namespace sink::ref {

// The weights a_i of one query: E + K columns, first that of the extra key (E is 1 with one, else 0). Zero for keys
// that the query does not see.
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
    (j == 0 ? first_key : other_keys).add(1, qk, norms, norms == 0 ? 0 : qk / norms);
  }
}

// Adds the weights a_i of one query, and their proxies |a_ij| / divisor, to the sums of its head.
inline void add_weights(const std::vector<double>& a, std::size_t E, double divisor, double rows, std::int64_t X,
                        HeadStatistics& sums) {
  for (std::size_t n = 0; n < a.size(); ++n) {
    double proxy = std::abs(a[n]) / divisor;
    if (proxy != 0) sums.entropy -= proxy * std::log(proxy) / rows;
    if (n < E) {
      sums.extra_raw += a[n];
      sums.extra_proxy += proxy;
      continue;
    }
    sums.row_sum += a[n] / rows;
    if (static_cast<std::int64_t>(n - E) < X) sums.column_raw[n - E] += a[n];
    if (static_cast<std::int64_t>(n - E) < X) sums.column_proxy[n - E] += proxy;
  }
}

// Adds the share of the first key in the row of one query, by the lengths of the weighted values.
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
      double m = m_BHT.data<double>()[bh * T + t], S = S_BHT.data<double>()[bh * T + t], absolute_sum = 0;
      std::vector<double> a = weight_row(op, head, m, S, b, h, i);
      for (double a_j : a) absolute_sum += std::abs(a_j);
      double n = static_cast<double>(range.count(i, head.k.T));
      double divisor = proxy_divisor(op, absolute_sum, AttentionRow(op, m, S, n).z());
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
AttentionKeySums attention_key_sums(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                                    const Tensor& S_BHT, const AttentionConfig& config) {
  AttentionKeySums sums = attention_check::zero_key_sums(q_BHTD, k_BGKD);
  const std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), K = k_BGKD.dim(2), E = config.extra_key.present() ? 1 : 0;
  parallel_for(q_BHTD.dim(0) * H, [&](std::int64_t bh) {
    Head head(q_BHTD, k_BGKD, k_BGKD, config, bh % H);
    auto of_head = [&](Tensor& x) { return x.data<double>() + bh * (x.rank() == 3 ? K : 1); };
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int64_t i = head.position(t);
      const double m = m_BHT.data<double>()[bh * T + t], S = S_BHT.data<double>()[bh * T + t];
      const std::vector<double> a = weight_row(op, head, m, S, bh / H, bh % H, i);
      double absolute_sum = 0;
      for (double a_j : a) absolute_sum += std::abs(a_j);
      const double inverse = absolute_sum == 0 ? 0 : 1 / absolute_sum;
      if (E > 0) *of_head(sums.extra_raw_BH) += a[0];
      if (E > 0) *of_head(sums.extra_proxy_BH) += std::abs(a[0]) * inverse;
      for (std::int64_t j = 0; j < K; ++j) {
        const double weight = a[static_cast<std::size_t>(E + j)], proxy = std::abs(weight) * inverse;
        of_head(sums.raw_BHK)[j] += weight;
        of_head(sums.proxy_BHK)[j] += proxy;
        of_head(sums.largest_BHK)[j] = larger(of_head(sums.largest_BHK)[j], proxy);
        if (j <= i) of_head(sums.by_distance_BHK)[i - j] += proxy;
        *of_head(sums.row_sum_BH) += weight / static_cast<double>(T);
      }
    }
  });
  return sums;
}

template <class Op>
Tensor attention_pattern(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT,
                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t b, std::int64_t h) {
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
