// Sparsemax and entmax-1.5: their weights against the closed forms of the papers, which sort the scores, on every type;
// the gradient of a learned sink in closed form; and rows that need many steps of Newton's method.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/engine/ops/attention_case.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

const DType kTypes[] = {DType::F64, DType::F32, DType::BF16};

// Algorithm 1 of Martins and Astudillo 2016.
double sparsemax_threshold(std::vector<double> s) {
  std::sort(s.begin(), s.end(), std::greater<>());
  double sum = 0, tau = 0;
  for (std::size_t k = 1; k <= s.size(); ++k) {
    sum += s[k - 1];
    double next = (sum - 1) / static_cast<double>(k);
    if (s[k - 1] > next) tau = next;
  }
  return tau;
}

// Algorithm 2 of Peters et al. 2019, of scores that are not halved: twice its threshold.
double entmax_threshold(std::vector<double> s) {
  std::sort(s.begin(), s.end(), std::greater<>());
  double sum = 0, squares = 0, tau = 0;
  for (std::size_t count = 1; count <= s.size(); ++count) {
    double k = static_cast<double>(count), half = s[count - 1] / 2;
    sum += half, squares += half * half;
    double mean = sum / k, spread = squares - sum * mean;
    double next = mean - std::sqrt(std::max(0.0, 1 - spread) / k);
    if (spread <= 1 && next <= half) tau = next;
  }
  return 2 * tau;
}

double weight_of(const Sparsemax&, const std::vector<double>& s, double s_j) {
  return std::max(0.0, s_j - sparsemax_threshold(s));
}
double weight_of(const Entmax15&, const std::vector<double>& s, double s_j) {
  return std::pow(std::max(0.0, s_j - entmax_threshold(s)) / 2, 2);
}

// The largest difference of a weight from its closed form, in all rows of a case of one sequence and head.
template <class Op>
double worst_weight(const AttentionCase& c, const Op& op) {
  std::int64_t T = c.q.dim(2), D = c.q.dim(3), E = c.config.extra_key.present() ? 1 : 0;
  Tensor a = c.map(0, 0, op);
  auto score = [&](const Tensor& k, std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t d = 0; d < D; ++d) sum += c.q.item(i * D + d) * k.item(j * D + d);
    return c.config.scale * sum;
  };
  double worst = 0;
  for (std::int64_t i = 0; i < T; ++i) {
    std::vector<double> s;
    std::vector<std::int64_t> columns;
    for (std::int64_t j = 0; j < T; ++j) {
      if (!c.config.range.sees(i, j)) continue;
      double bias = c.config.bias_HT.defined() ? c.config.bias_HT.item(std::max<std::int64_t>(0, i - j)) : 0;
      s.push_back(score(c.k, i, j) + bias);
      columns.push_back(E + j);
    }
    if (E) s.push_back(score(c.config.extra_key.k_HD, i, 0)), columns.push_back(0);
    for (std::size_t n = 0; n < s.size(); ++n)
      keep_worst(worst, std::abs(a.item(i * (E + T) + columns[n]) - weight_of(op, s, s[n])));
  }
  return worst;
}

template <class Op>
void check_closed_form(const Op& op) {
  CAPTURE(operation_name<Op>());
  for (DType dtype : kTypes)
    for (KeyRange range : {KeyRange{}, KeyRange{.window = 40}, KeyRange{.prefix = 3, .window = 9}})
      for (Extra extra : {Extra::none, Extra::everything}) {
        AttentionCase c = AttentionCase(1, 1, 150, 16, DType::BF16, range, 2, extra).to(dtype);
        c.forward(op);
        CAPTURE(std::string(name_of(dtype)));
        CHECK(worst_weight(c, op) < (dtype == DType::F64 ? 1e-13 : 1e-5));
        AttentionStatistics found = c.statistics(150, op);
        double sum = found.row_sum_BH.item(0) + found.extra_raw_BH.item(0) / 150;
        CHECK(sum == doctest::Approx(1).epsilon(1e-5));
        for (std::int64_t j = 0; j < 150; ++j)  // a weight is its own proxy
          CHECK(found.column_proxy_BHX.item(j) == doctest::Approx(found.column_raw_BHX.item(j)).epsilon(1e-9));
      }
}

}  // namespace

TEST_CASE("thresholds: the weights are those of the papers' closed forms, and rows sum to one") {
  check_closed_form(Sparsemax{});
  check_closed_form(Entmax15{});
}

TEST_CASE("thresholds: a learned sink of zero queries, forward and backward in closed form") {
  // n keys have the score 0 and the extra key b. Sparsemax with |b| < 1 / n or so has all in its support: with the
  // threshold t = (b - 1) / (n + 1) the extra key has the weight b - t. The Jacobian is I - 1 / (n + 1), so that
  // d o / d b = (v* - mean over all n + 1 of v) do. Entmax-1.5: x = s / 2 - t, weights x^2, I - x x^T / sum x times x.
  for (DType dtype : {DType::F64, DType::F32}) {
    constexpr std::int64_t n = 4;
    const double b = 0.125, tolerance = dtype == DType::F64 ? 1e-13 : 1e-6;
    Tensor q = Tensor::zeros({1, 1, 1, 1}, dtype), k = Tensor::zeros({1, 1, n, 1}, dtype);
    Tensor v = Tensor::from<double>({1, 1, n, 1}, {1, 2, 4, 8}).to(dtype),
           grad_o = Tensor::full({1, 1, 1, 1}, 1, dtype);
    AttentionConfig config{.first_position = n - 1};
    config.extra_key = {.logit_H = Tensor::full({1}, b, dtype), .v_HD = Tensor::full({1, 1}, 16, dtype)};
    Tensor o = q.clone(), m = Tensor::zeros({1, 1, 1}, dtype), S = m.clone();
    auto check = [&]<class Op>(const Op& op, double a, double a_extra, double slope, double slope_extra) {
      CAPTURE(operation_name<Op>());
      attention(op, q, k, v, config, o, m, S);
      AttentionGradients found = attention_backward(op, grad_o, q, k, v, o, m, S, config);
      CHECK(std::abs(n * a + a_extra - 1) < 1e-12);
      CHECK(std::abs(o.item(0) - (15 * a + 16 * a_extra)) < 16 * tolerance);
      double mean = (15 * slope + 16 * slope_extra) / (n * slope + slope_extra);
      CHECK(std::abs(found.dextra_logit_H.item(0) - slope_extra * (16 - mean)) < 16 * tolerance);
      CHECK(std::abs(found.dextra_v_HD.item(0) - a_extra) < tolerance);
      CHECK(std::abs(found.dv_BGKD.item(2) - a) < tolerance);
    };
    double t = (b - 1) / (n + 1);
    check(Sparsemax{}, -t, b - t, 1, 1);
    double h = b / 2, u = (h - std::sqrt(h * h - (n + 1) * (h * h - 1))) / (n + 1);  // n u^2 + (h - u)^2 = 1
    check(Entmax15{}, u * u, (h - u) * (h - u), -u, h - u);
  }
}

TEST_CASE("thresholds: rows whose support shrinks by a few keys in every step") {
  // Scores -1 / sqrt(j + 1) come closer to each other by and by.
  constexpr std::int64_t T = 4096;
  for (DType dtype : {DType::F64, DType::F32}) {
    Tensor q = Tensor::full({1, 1, 1, 1}, 1, dtype), k = Tensor::empty({1, 1, T, 1}, DType::F64);
    std::vector<double> s;
    for (std::int64_t j = 0; j < T; ++j) {
      s.push_back(static_cast<double>(static_cast<float>(-1 / std::sqrt(static_cast<double>(j + 1)))));
      k.data<double>()[j] = s.back();
    }
    k = k.to(dtype);
    AttentionConfig config{.first_position = T - 1};
    Tensor o = q.clone(), m = Tensor::zeros({1, 1, 1}, dtype), S = m.clone();
    attention(Sparsemax{}, q, k, k, config, o, m, S);
    CHECK(std::abs(m.item(0) - sparsemax_threshold(s)) < (dtype == DType::F64 ? 1e-12 : 1e-6));
    attention(Entmax15{}, q, k, k, config, o, m, S);
    CHECK(std::abs(m.item(0) - entmax_threshold(s)) < (dtype == DType::F64 ? 1e-12 : 1e-6));
  }
}
