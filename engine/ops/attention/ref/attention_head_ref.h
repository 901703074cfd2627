// The inputs and gradients of one head in the reference, by row, and what attention_row calls: keys, scores, threshold.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/op/attention_row.h"
#include "engine/ops/reference_row.h"

namespace sink::ref {

// The rows of a (B, H, T, D) tensor: one position, or several.
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

// Row h of a tensor of H rows; empty where the tensor is undefined.
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

// The inputs of one head.
struct Head {
  Rows<const double> q, k, v;
  const AttentionConfig& config;
  Row bias, extra_k, extra_logit, extra_v;  // empty where there is none

  Head(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const AttentionConfig& config, std::int64_t h)
      : q(rows_of(q_BHTD)),
        k(rows_of(k_BGKD)),
        v(rows_of(v_BGKD)),
        config(config),
        bias(head_row(config.bias_HT, h)),
        extra_k(head_row(config.extra_key.k_HD, h)),
        extra_logit(head_row(config.extra_key.logit_H, h)),
        extra_v(head_row(config.extra_key.v_HD, h)) {}

  // The key and value head of query head h.
  std::int64_t group_of(std::int64_t h) const { return h / (q.H / k.H); }
  // The position of the query in row t, and the row of the query at position i.
  std::int64_t position(std::int64_t t) const { return config.first_position + t; }
  std::int64_t row(std::int64_t i) const { return i - config.first_position; }
  double bias_at(std::int64_t i, std::int64_t j) const { return bias.empty() ? 0 : bias[distance(i, j)]; }
  static std::size_t distance(std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, i - j));
  }
};

// The keys that query i of sequence b sees, in ascending order, as in attention_row.
inline std::vector<std::int64_t> keys_of(const Head& head, std::int64_t b, std::int64_t i) {
  std::vector<std::int64_t> keys;
  head.config.range_of(b).for_each_key(i, head.k.T, [&](std::int64_t j) { keys.push_back(j); });
  return keys;
}

// Pass 1 of attention_row: the scores of these keys, then that of the extra key.
inline std::vector<double> score_row(const Head& head, std::int64_t i, Row q, const std::vector<std::int64_t>& keys,
                                     const std::vector<Row>& k) {
  double scale = head.config.scale;
  std::vector<double> s;
  for (std::size_t n = 0; n < keys.size(); ++n) s.push_back(scale * dot(q, k[n]) + head.bias_at(i, keys[n]));
  if (!head.extra_k.empty()) s.push_back(scale * dot(q, head.extra_k));
  if (!head.extra_logit.empty()) s.push_back(head.extra_logit[0]);
  return s;
}

// The m with sum_j g(s_j - m) = 1, by bisection to the last bit.
template <class Op>
double threshold(const Op& op, const std::vector<double>& s) {
  double largest = -INFINITY;
  for (double s_j : s) largest = std::max(largest, s_j);
  double below = op.threshold_start(largest), above = largest;  // the sum is at least 1, and 0
  for (double middle; (middle = below + (above - below) / 2) > below && middle < above;) {
    double sum = 0;
    for (double s_j : s) sum += AttentionRow(op, middle).g(s_j - middle);
    (sum >= 1 ? below : above) = middle;
  }
  return below;
}

// The gradients of one head; empty where there is none.
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

}  // namespace sink::ref
