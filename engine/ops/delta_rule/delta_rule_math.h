// The gated delta rule of one head, forward and backward. R: float or double, the type of sums and states.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/ops/delta_rule/delta_rule.h"
#include "engine/vector_math.h"

namespace sink {

// A head at one token, with the factors of its queries and keys.
template <class R, class X>
struct DeltaToken {
  const X *q_D, *k_D, *v_D;
  R q_scale, k_scale, rate, decay, beta;
};

template <class R, class X>
struct DeltaOperands {
  const X *qkv, *a, *b;
  const R *log_rate, *bias;
  std::int64_t T;
  DeltaHeads heads;

  SINK_HD static R inverse_length(const X* x_D, std::int64_t D) {
    R squares = 0;
    for (std::int64_t d = 0; d < D; ++d) squares += R(x_D[d]) * R(x_D[d]);
    return R(1) / std::sqrt(squares + R(1e-6));
  }
  // Of head h at token `row`, counted over all sequences.
  SINK_HD DeltaToken<R, X> token(std::int64_t row, std::int64_t h) const {
    const std::int64_t G = heads.key_heads, H = heads.heads, D = heads.key_width, g = heads.key_head(h);
    const X *q = qkv + row * heads.width() + g * D, *k = q + G * D;
    const X* v = qkv + row * heads.width() + 2 * G * D + h * heads.value_width;
    const R s = R(a[row * H + h]) + bias[h], rate = exp_fast(log_rate[h]);
    return {q,
            k,
            v,
            inverse_length(q, D) / std::sqrt(R(D)),
            inverse_length(k, D),
            rate,
            exp_fast(rate * log_logistic_fast(-s)),
            logistic_fast(R(b[row * H + h]))};
  }
};

// The columns [begin, end) of the state of head h of sequence b, which do not depend on each other, and those of its
// outputs. S: the head's state; u: memory for the columns.
template <class R, class X>
SINK_HD void delta_rule_columns(const DeltaOperands<R, X>& operands, std::int64_t b, std::int64_t h, std::int64_t begin,
                                std::int64_t end, R* S, R* u, X* o) {
  const DeltaHeads& heads = operands.heads;
  const std::int64_t D = heads.value_width, columns = end - begin;
  for (std::int64_t row = b * operands.T; row < (b + 1) * operands.T; ++row) {
    const DeltaToken<R, X> token = operands.token(row, h);
    X* o_D = o + (row * heads.heads + h) * D + begin;
    for (std::int64_t j = 0; j < columns; ++j) u[j] = 0;
    for (std::int64_t i = 0; i < heads.key_width; ++i) {
      const R k = R(token.k_D[i]) * token.k_scale;
      R* S_i = S + i * D + begin;
      for (std::int64_t j = 0; j < columns; ++j) {
        S_i[j] *= token.decay;
        u[j] += k * S_i[j];
      }
    }
    for (std::int64_t j = 0; j < columns; ++j) u[j] = token.beta * (R(token.v_D[begin + j]) - u[j]);
    R* o_j = u + columns;
    for (std::int64_t j = 0; j < columns; ++j) o_j[j] = 0;
    for (std::int64_t i = 0; i < heads.key_width; ++i) {
      const R k = R(token.k_D[i]) * token.k_scale, q = R(token.q_D[i]) * token.q_scale;
      R* S_i = S + i * D + begin;
      for (std::int64_t j = 0; j < columns; ++j) {
        S_i[j] += k * u[j];
        o_j[j] += q * S_i[j];
      }
    }
    for (std::int64_t j = 0; j < columns; ++j) store(o_D[j], o_j[j]);
  }
}

template <class R, class X>
struct DeltaGradients {
  const X* d_o;
  X *dqkv, *da, *db;
  R *dlog_rate, *dbias;
};

// The memory that the gradients of a key head need.
inline std::int64_t delta_scratch(std::int64_t T, const DeltaHeads& heads) {
  const std::int64_t state = heads.key_width * heads.value_width;
  return (T + 2) * state + 2 * T * heads.key_width + 2 * heads.value_width;
}

// dx of y = scale x / |x|, at one token: dy is R, x_scale is scale / |x|.
template <class R, class X>
SINK_HD void normed_backward(const R* dy_D, const X* x_D, R x_scale, R scale, std::int64_t D, X* dx_D) {
  R dot = 0;
  for (std::int64_t d = 0; d < D; ++d) dot += dy_D[d] * R(x_D[d]);
  const R inverse = x_scale / scale;
  for (std::int64_t d = 0; d < D; ++d) store(dx_D[d], x_scale * (dy_D[d] - R(x_D[d]) * inverse * inverse * dot));
}

// Adds to the gradients dq_TD and dk_TD of normed queries and keys those of head h, and stores the others. S: memory
// for the states before and after all tokens; u and du: for a row.
template <class R, class X>
SINK_HD void delta_rule_head_backward(const DeltaOperands<R, X>& operands, const DeltaGradients<R, X>& gradients,
                                      std::int64_t b, std::int64_t h, R* S, R* dS, R* dq_TD, R* dk_TD, R* u, R* du) {
  const DeltaHeads& heads = operands.heads;
  const std::int64_t T = operands.T, K = heads.key_width, D = heads.value_width;
  auto residual = [&](const DeltaToken<R, X>& token, const R* before) {  // u of a token
    for (std::int64_t j = 0; j < D; ++j) u[j] = R(token.v_D[j]);
    for (std::int64_t i = 0; i < K; ++i)
      for (std::int64_t j = 0; j < D; ++j) u[j] -= R(token.k_D[i]) * token.k_scale * token.decay * before[i * D + j];
  };
  for (std::int64_t n = 0; n < K * D; ++n) S[n] = dS[n] = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    const DeltaToken<R, X> token = operands.token(b * T + t, h);
    const R* before = S + t * K * D;
    R* after = S + (t + 1) * K * D;
    residual(token, before);
    for (std::int64_t i = 0; i < K; ++i)
      for (std::int64_t j = 0; j < D; ++j)
        after[i * D + j] = token.decay * before[i * D + j] + R(token.k_D[i]) * token.k_scale * token.beta * u[j];
  }
  R dlog_rate = 0, dbias = 0;
  for (std::int64_t t = T - 1; t >= 0; --t) {
    const std::int64_t row = b * T + t;
    const DeltaToken<R, X> token = operands.token(row, h);
    const R *before = S + t * K * D, *after = before + K * D;
    const X* do_D = gradients.d_o + (row * heads.heads + h) * D;
    residual(token, before);
    for (std::int64_t j = 0; j < D; ++j) du[j] = 0;
    for (std::int64_t i = 0; i < K; ++i) {
      R dq = 0, dk = 0;
      for (std::int64_t j = 0; j < D; ++j) {
        R& dS_ij = dS[i * D + j];
        dS_ij += R(token.q_D[i]) * token.q_scale * R(do_D[j]);
        dq += after[i * D + j] * R(do_D[j]);
        dk += dS_ij * token.beta * u[j];
        du[j] += token.beta * dS_ij * R(token.k_D[i]) * token.k_scale;
      }
      dq_TD[t * K + i] += dq;
      dk_TD[t * K + i] += dk;
    }
    R dbeta = 0, ddecay = 0;  // dbeta: times beta
    X* dv_D = gradients.dqkv + (token.v_D - operands.qkv);
    for (std::int64_t j = 0; j < D; ++j) {
      dbeta += du[j] * u[j];
      store(dv_D[j], du[j]);
    }
    for (std::int64_t i = 0; i < K; ++i) {
      R dk = 0;
      for (std::int64_t j = 0; j < D; ++j) {
        R& dS_ij = dS[i * D + j];
        dk += before[i * D + j] * du[j];
        dS_ij -= R(token.k_D[i]) * token.k_scale * du[j];
        ddecay += dS_ij * before[i * D + j];
        dS_ij *= token.decay;
      }
      dk_TD[t * K + i] -= token.decay * dk;
    }
    store(gradients.db[row * heads.heads + h], dbeta * (R(1) - token.beta));
    const R s = R(operands.a[row * heads.heads + h]) + operands.bias[h], dlog_decay = ddecay * token.decay;
    const R ds = -dlog_decay * token.rate * logistic_fast(s);
    store(gradients.da[row * heads.heads + h], ds);
    dbias += ds;
    dlog_rate += dlog_decay * token.rate * log_logistic_fast(-s);
  }
  gradients.dbias[b * heads.heads + h] = dbias;
  gradients.dlog_rate[b * heads.heads + h] = dlog_rate;
}

// All gradients of key head g of sequence b.
template <class R, class X>
SINK_HD void delta_rule_group_backward(const DeltaOperands<R, X>& operands, const DeltaGradients<R, X>& gradients,
                                       std::int64_t b, std::int64_t g, R* scratch) {
  const DeltaHeads& heads = operands.heads;
  const std::int64_t T = operands.T, K = heads.key_width, D = heads.value_width, group = heads.heads / heads.key_heads;
  R *S = scratch, *dS = S + (T + 1) * K * D, *dq_TD = dS + K * D, *dk_TD = dq_TD + T * K, *u = dk_TD + T * K;
  for (std::int64_t n = 0; n < 2 * T * K; ++n) dq_TD[n] = 0;
  const std::int64_t first = heads.alternating ? g : g * group, step = heads.alternating ? heads.key_heads : 1;
  for (std::int64_t n = 0; n < group; ++n)
    delta_rule_head_backward(operands, gradients, b, first + n * step, S, dS, dq_TD, dk_TD, u, u + D);
  for (std::int64_t t = 0; t < T; ++t) {
    const DeltaToken<R, X> token = operands.token(b * T + t, first);
    X* dq_D = gradients.dqkv + (token.q_D - operands.qkv);
    X* dk_D = gradients.dqkv + (token.k_D - operands.qkv);
    normed_backward(dq_TD + t * K, token.q_D, token.q_scale, R(1) / std::sqrt(R(K)), K, dq_D);
    normed_backward(dk_TD + t * K, token.k_D, token.k_scale, R(1), K, dk_D);
  }
}

}  // namespace sink
