// The gated delta rule (Yang, Kautz and Hatamizadeh 2025, "Gated Delta Networks", equation 10), with the norms and the
// gates of Qwen3-Next and Qwen3.5: a recurrence over the tokens t of a sequence. The state S of a head maps keys to
// values; every token decays it and corrects what it has for the token's key:
//
//   S_t = d_t S_{t-1} + k_t (beta_t (v_t - d_t S_{t-1}^T k_t))^T        o_t = S_t^T q_t
//   d_t = exp(-exp(log_rate) log(1 + e^(a_t + bias)))                    beta_t = logistic(b_t)
//
// Queries and keys are normed first: x / sqrt(|x|^2 + 1e-6), queries also divided by sqrt(D). No weight belongs to a
// pair of tokens: there is no attention pattern.
//
// Backward, with dS_t for what reaches S_t, from dS = 0 after the last token down:
//   dS_t += q_t do_t^T,  dq_t = S_t do_t,  u = v_t - d_t S_{t-1}^T k_t,  du = beta_t dS_t^T k_t,  dbeta_t = du^T u /
//   beta_t, dv_t = du,  dk_t = dS_t beta_t u - d_t S_{t-1} du,  P = dS_t - k_t du^T,  dd_t = sum P S_{t-1},  dS_{t-1} =
//   d_t P.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// H heads of values, each with the queries and keys of one of G = key_heads, which H / G adjacent ones share; or, where
// `alternating`, every G-th.
struct DeltaHeads {
  std::int64_t key_heads, heads, key_width, value_width;
  bool alternating = false;

  SINK_HD std::int64_t key_head(std::int64_t h) const { return alternating ? h % key_heads : h / (heads / key_heads); }
  SINK_HD std::int64_t width() const { return 2 * key_heads * key_width + heads * value_width; }
};

// qkv: (B, T, width()), queries of all key heads before keys and values; a, b: (B, T, H); o: (B, T, H D); one type
// (computed in F32 for BF16). log_rate and bias: F32, or F64 for F64, as is the state (B, H, D of keys, D of values):
// that before the first token, and afterwards that after the last.
void delta_rule(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH, const Tensor& log_rate_H,
                const Tensor& bias_H, const DeltaHeads& heads, Tensor& state_BHDD, Tensor& o_BTE);
// From a state of zeros. Gradients are like their values; those of log_rate and bias of each sequence, to be summed.
// Keeps the states after all tokens, for as many heads at a time as there are threads.
void delta_rule_backward(const Tensor& do_BTE, const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                         const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads, Tensor& dqkv_BTE,
                         Tensor& da_BTH, Tensor& db_BTH, Tensor& dlog_rate_BH, Tensor& dbias_BH);

SINK_BACKENDS(delta_rule)
SINK_BACKENDS(delta_rule_backward)

}  // namespace sink
