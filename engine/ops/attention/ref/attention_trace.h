// AttentionTrace: all intermediate values of one query's attention, forward and backward, with the names of
// attention.h. `eval_<ablation> explain` shows it; training does not use it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/operation_formula.h"

namespace sink {

struct AttentionTrace {
  static constexpr std::int64_t kExtraKey = -1;

  // One key j that the query sees. k is empty for an extra key that is a bare logit, v for one without a value.
  struct Key {
    std::int64_t j = 0;                                    // its position, or kExtraKey
    std::vector<double> k, v;                              // k_j, v_j
    double k_norm = 0, q_dot_k = 0, cosine = 0, bias = 0;  // |k_j|; cosine 0 where a vector has length 0
    double s = 0;  // scale q_dot_k + bias, where q_dot_k = |q_i| |k_j| cosine; or the logit
    double x = 0, g = 0, r = 0, w = 0, a = 0;
    double v_norm = 0, mixed_norm = 0;  // |v_j| and |a_ij v_j|
    double share = 0;                   // a_ij v_j . o_i / |o_i|^2: over all keys they sum to 1; 0 where o_i = 0

    double da = 0, dw = 0, dg = 0, dr = 0;  // dg = g'(x), dr = r'(x)
    double ds_by_g = 0, ds_by_S = 0;        // g'(x) dw / z and -r'(x) z' D_i / z
    double ds = 0;                          // their sum; this row's term of dbias, or of the gradient of the logit
    std::vector<double> dk, dv;             // this row's terms of dk_j and dv_j
  };

  const char* operation = "";  // its name
  OperationFormula formula;
  std::int64_t i = 0, head = 0, key_head = 0;
  double scale = 0;
  bool has_bias = false;
  std::vector<double> q, o;
  double q_norm = 0, o_norm = 0;
  std::vector<Key> keys;  // in ascending order, then the extra key
  double n = 0, m = 0, S = 0, z = 0;
  double row_sum = 0;                            // sum_j a_ij with the extra key
  std::vector<std::pair<double, double>> curve;  // (x, g(x)) around the x_ij of the row, for a plot

  bool backward = false;  // whether the gradients below and in `keys` are set
  std::vector<double> do_i, dq;
  double D = 0, dz = 0;  // D_i = sum_j w_ij dw_ij, z'(S_i); of a threshold sum_j r_ij dw_ij, 1 / S_i

  // The index in `keys` of the first largest |a_ij|.
  std::size_t strongest() const {
    auto by_weight = [](const Key& x, const Key& y) { return std::abs(x.a) < std::abs(y.a); };
    return static_cast<std::size_t>(std::max_element(keys.begin(), keys.end(), by_weight) - keys.begin());
  }
};

// Traces the query at position i, at least config.first_position, of sequence b and head h. If do_BHTD is defined, also
// the gradients through this row alone. Tensors of any type, computed in F64.
template <class Op>
AttentionTrace attention_trace(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                               const AttentionConfig& config, const Tensor& do_BHTD, std::int64_t b, std::int64_t h,
                               std::int64_t i);

// Compiled once per operation, as attention is.
#define SINK_ATTENTION_TRACE_TEMPLATE(Op) template decltype(attention_trace<Op>) attention_trace<Op>;

}  // namespace sink
