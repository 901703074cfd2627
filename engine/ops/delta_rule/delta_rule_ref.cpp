// Reference: the gated delta rule in double.
#include "engine/ops/delta_rule/delta_rule.h"

#include <cmath>
#include <vector>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/delta_rule/delta_rule_math.h"
#include "engine/ops/reference_row.h"

namespace sink::ref {
namespace {

std::vector<double> normed(Row x_D, double scale) {
  double squares = 1e-6;
  for (double x : x_D) squares += x * x;
  std::vector<double> y_D;
  for (double x : x_D) y_D.push_back(scale * x / std::sqrt(squares));
  return y_D;
}

// One token of one head, from the state S_{t-1} (D of keys, D of values) to S_t.
[[gnu::noinline]] void delta_rule_row([[maybe_unused]] std::int64_t t, [[maybe_unused]] std::int64_t h, Row q_D,
                                      Row k_D, Row v_D, double a, double b, double log_rate, double bias,
                                      std::span<double> S_DD, std::span<double> o_D) {
  const std::size_t K = k_D.size(), D = v_D.size();
  const std::vector<double> q = normed(q_D, 1 / std::sqrt(static_cast<double>(K))), k = normed(k_D, 1);
  const double decay = std::exp(-std::exp(log_rate) * std::log1p(std::exp(a + bias)));
  const double beta = 1 / (1 + std::exp(-b));
  for (std::size_t j = 0; j < D; ++j) {
    double old = 0;  // of the value that the state has for this key
    for (std::size_t i = 0; i < K; ++i) old += decay * S_DD[i * D + j] * k[i];
    const double correction = beta * (v_D[j] - old);
    o_D[j] = 0;
    for (std::size_t i = 0; i < K; ++i) {
      S_DD[i * D + j] = decay * S_DD[i * D + j] + k[i] * correction;
      o_D[j] += S_DD[i * D + j] * q[i];
    }
  }
}

}  // namespace

void delta_rule(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH, const Tensor& log_rate_H,
                const Tensor& bias_H, const DeltaHeads& heads, Tensor& state_BHDD, Tensor& o_BTE) {
  const std::int64_t B = qkv_BTE.dim(0), T = qkv_BTE.dim(1), G = heads.key_heads, H = heads.heads, K = heads.key_width,
                     D = heads.value_width;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t) {
      const Row qkv_E = row_of(qkv_BTE, b * T + t, heads.width());
      auto part = [&](std::int64_t first, std::int64_t width) {
        return qkv_E.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(width));
      };
      for (std::int64_t h = 0; h < H; ++h) {
        const std::int64_t g = heads.key_head(h), n = (b * T + t) * H + h;
        delta_rule_row(t, h, part(g * K, K), part((G + g) * K, K), part(2 * G * K + h * D, D), a_BTH.data<double>()[n],
                       b_BTH.data<double>()[n], log_rate_H.data<double>()[h], bias_H.data<double>()[h],
                       row_of(state_BHDD, b * H + h, K * D), row_of(o_BTE, n, D));
      }
    }
}

void delta_rule_backward(const Tensor& do_BTE, const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                         const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads, Tensor& dqkv_BTE,
                         Tensor& da_BTH, Tensor& db_BTH, Tensor& dlog_rate_BH, Tensor& dbias_BH) {
  const DeltaOperands<double, double> operands{qkv_BTE.data<double>(),
                                               a_BTH.data<double>(),
                                               b_BTH.data<double>(),
                                               log_rate_H.data<double>(),
                                               bias_H.data<double>(),
                                               qkv_BTE.dim(1),
                                               heads};
  const DeltaGradients<double, double> gradients{do_BTE.data<double>(),       dqkv_BTE.data<double>(),
                                                 da_BTH.data<double>(),       db_BTH.data<double>(),
                                                 dlog_rate_BH.data<double>(), dbias_BH.data<double>()};
  std::vector<double> scratch(static_cast<std::size_t>(delta_scratch(qkv_BTE.dim(1), heads)));
  for (std::int64_t b = 0; b < qkv_BTE.dim(0); ++b)
    for (std::int64_t g = 0; g < heads.key_heads; ++g)
      delta_rule_group_backward(operands, gradients, b, g, scratch.data());
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_delta_rule(const char* op, const Tensor& qkv, const Tensor& a, const Tensor& b, const Tensor& log_rate,
                      const Tensor& bias, const DeltaHeads& heads) {
  const bool fits = qkv.rank() == 3 && heads.key_heads > 0 && heads.heads > 0 && heads.heads % heads.key_heads == 0 &&
                    heads.key_width > 0 && heads.value_width > 0 && qkv.dim(2) == heads.width();
  SINK_CHECK(fits, op,
             "expected queries, keys and values (B, T, " + std::to_string(heads.width()) + ") of " +
                 std::to_string(heads.heads) + " heads, a multiple of " + std::to_string(heads.key_heads) +
                 " key heads, got " + qkv.str());
  const Tensor of_heads = qkv.new_empty({qkv.dim(0), qkv.dim(1), heads.heads}, qkv.dtype());
  check_like(op, "a", a, of_heads);
  check_like(op, "b", b, of_heads);
  const Tensor of_head = qkv.new_empty({heads.heads}, accumulate_type(qkv.dtype()));
  check_like(op, "log_rate", log_rate, of_head);
  check_like(op, "bias", bias, of_head);
}

Tensor outputs_like(const Tensor& qkv, const DeltaHeads& heads) {
  return qkv.new_empty({qkv.dim(0), qkv.dim(1), heads.heads * heads.value_width}, qkv.dtype());
}

}  // namespace

void delta_rule(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH, const Tensor& log_rate_H,
                const Tensor& bias_H, const DeltaHeads& heads, Tensor& state_BHDD, Tensor& o_BTE) {
  check_delta_rule("delta_rule", qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads);
  check_like("delta_rule", "o", o_BTE, outputs_like(qkv_BTE, heads));
  check_like("delta_rule", "state", state_BHDD,
             qkv_BTE.new_empty({qkv_BTE.dim(0), heads.heads, heads.key_width, heads.value_width},
                               accumulate_type(qkv_BTE.dtype())));
  SINK_SELECT(qkv_BTE, delta_rule)(qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads, state_BHDD, o_BTE);
}

void delta_rule_backward(const Tensor& do_BTE, const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                         const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads, Tensor& dqkv_BTE,
                         Tensor& da_BTH, Tensor& db_BTH, Tensor& dlog_rate_BH, Tensor& dbias_BH) {
  const char* op = "delta_rule_backward";
  check_delta_rule(op, qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads);
  check_like(op, "do", do_BTE, outputs_like(qkv_BTE, heads));
  check_like(op, "dqkv", dqkv_BTE, qkv_BTE);
  check_like(op, "da", da_BTH, a_BTH);
  check_like(op, "db", db_BTH, b_BTH);
  const Tensor of_sequences = log_rate_H.new_empty({qkv_BTE.dim(0), heads.heads}, log_rate_H.dtype());
  check_like(op, "dlog_rate", dlog_rate_BH, of_sequences);
  check_like(op, "dbias", dbias_BH, of_sequences);
  SINK_SELECT(qkv_BTE, delta_rule_backward)
  (do_BTE, qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads, dqkv_BTE, da_BTH, db_BTH, dlog_rate_BH, dbias_BH);
}

}  // namespace sink
