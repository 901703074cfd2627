// AttentionTrace: one query's attention with every number on the way, forward and backward, in the names of
// attention.h. What `eval_<ablation> explain` shows; nothing that trains makes one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/ops/attention/attention.h"

namespace sink {

struct AttentionTrace {
  static constexpr std::int64_t kExtraKey = -1;

  // What belongs to one key j that the query sees. Vectors have D numbers, those that there are none of none: k of an
  // extra key that is a bare score, v of one without a value.
  struct Key {
    std::int64_t j = 0;                                    // its position, or kExtraKey
    std::vector<double> k, v;                              // k_j, v_j
    double k_norm = 0, q_dot_k = 0, cosine = 0, bias = 0;  // |k_j|; cosine 0 where a vector has length 0
    double s = 0;  // scale q_dot_k + bias, where q_dot_k = |q_i| |k_j| cosine; or the bare score
    double x = 0, g = 0, r = 0, w = 0, a = 0;
    double v_norm = 0, mixed_norm = 0;  // |v_j| and |a_ij v_j|
    double share = 0;                   // a_ij v_j . o_i / |o_i|^2: over all keys they sum to 1; 0 where o_i = 0

    double da = 0, dw = 0, dg = 0, dr = 0;  // dg = g'(x), dr = r'(x)
    double ds_by_g = 0, ds_by_S = 0;        // g'(x) dw / z and -r'(x) z' D_i / z
    double ds = 0;                          // their sum, and this row's part of dbias or of the bare score's gradient
    std::vector<double> dk, dv;             // this row's part of dk_j and dv_j
  };

  const char* operation = "";  // Op::name
  std::int64_t i = 0, head = 0, key_head = 0;
  double scale = 0;
  bool has_bias = false;
  std::vector<double> q, o;
  double q_norm = 0, o_norm = 0;
  std::vector<Key> keys;  // in rising order, the extra key behind them
  double n = 0, m = 0, S = 0, z = 0;
  double row_sum = 0;                            // sum_j a_ij, the extra key's too
  std::vector<std::pair<double, double>> curve;  // (x, g(x)) around the x_ij of the row, to draw

  bool backward = false;  // whether what follows, and the second part of every key, is there
  std::vector<double> do_i, dq;
  double D = 0, dz = 0;  // D_i = sum_j w_ij dw_ij, z'(S_i)

  // The index in `keys` of the largest |a_ij|, the first of equals.
  std::size_t strongest() const;
};

// Query i (a position, from config.first_position on) of sequence b and head h; with do_BHTD defined its backward too,
// through this row alone. Tensors of any type, computed in F64.
template <AttentionOp Op>
AttentionTrace attention_trace(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                               const AttentionConfig& config, const Tensor& do_BHTD, std::int64_t b, std::int64_t h,
                               std::int64_t i);

// Compiled as attention is: once per operation, in a source file that CMakeLists.txt makes of its line.
#define SINK_ATTENTION_TRACE_TEMPLATE(prefix, Op)                                                            \
  prefix template AttentionTrace attention_trace<Op>(const Op&, const Tensor&, const Tensor&, const Tensor&, \
                                                     const AttentionConfig&, const Tensor&, std::int64_t,    \
                                                     std::int64_t, std::int64_t);
#define SINK_ATTENTION_OP(Op) SINK_ATTENTION_TRACE_TEMPLATE(extern, Op)
#include "engine/ops/attention/op/attention_ops.def"

}  // namespace sink
