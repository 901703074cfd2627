// Fills an AttentionTrace with the stages of the reference: o, m, S and the gradients come from attention_row and
// attention_row_backward; their intermediate values are computed here again, by the same functions.
#pragma once

#include <algorithm>

#include "engine/ops/attention/ref/attention_ref.h"
#include "engine/ops/attention/ref/attention_trace.h"

namespace sink::ref {

inline std::vector<double> copy_of(Row x) { return {x.begin(), x.end()}; }
inline double norm_of(Row x) { return std::sqrt(dot(x, x)); }

// The query, its keys, and the scores with their factors: scale, norms, cosine and bias.
AttentionTrace trace_of_scores(const Head& head, std::int64_t b, std::int64_t h, std::int64_t i);

// x, g, r, w and a of every key, and the curve of g.
template <class Op>
void trace_weights(const Op& op, AttentionTrace& trace) {
  AttentionRow row(op, trace.m, trace.S, trace.n);
  trace.z = row.z();
  double low = INFINITY, high = -INFINITY;
  for (AttentionTrace::Key& key : trace.keys) {
    key.x = key.s - trace.m;
    key.g = row.g(key.x), key.r = row.r(key.x);
    key.w = key.g / trace.z;
    key.a = row.post(key.w);
    trace.row_sum += key.a;
    low = std::min(low, key.x), high = std::max(high, key.x);
  }
  constexpr int kIntervals = 120;
  double margin = std::max(1.0, 0.1 * (high - low)), width = high - low + 2 * margin;
  for (int n = 0; n <= kIntervals; ++n) {
    double x = low - margin + width * n / kIntervals;
    trace.curve.emplace_back(x, row.g(x));
  }
}

// Each value's share of o_i.
void trace_mix(AttentionTrace& trace);

template <class Op>
void trace_backward(const Op& op, const Head& head, Row do_i, AttentionGradients own, std::int64_t b,
                    AttentionTrace& trace) {
  std::int64_t h = trace.head, i = trace.i;
  for (Tensor* x : {&own.dq_BHTD, &own.dk_BGKD, &own.dv_BGKD}) x->fill(0);
  HeadGradients gradients(own, h);
  attention_row_backward(op, head, do_i, trace.m, trace.S, b, h, i, gradients);
  trace.backward = true;
  trace.do_i = copy_of(do_i);
  trace.dq = copy_of(gradients.dq(b, h, head.row(i)));
  AttentionRow row(op, trace.m, trace.S, trace.n);
  trace.dz = row.dz();
  for (AttentionTrace::Key& key : trace.keys) {
    key.da = key.v.empty() ? 0 : dot(do_i, key.v);
    key.dw = row.dpost(key.w) * key.da;
    trace.D += row.in_D(key.x, key.w) * key.dw;
  }
  for (AttentionTrace::Key& key : trace.keys) {
    bool extra = key.j == AttentionTrace::kExtraKey;
    key.dg = row.dg(key.x), key.dr = row.dr(key.x);
    key.ds_by_g = key.dg * key.dw / trace.z;
    key.ds_by_S = -key.dr * trace.dz * trace.D / trace.z;
    key.ds = (key.dg * key.dw - key.dr * trace.dz * trace.D) / trace.z;
    key.dk = copy_of(extra ? gradients.dextra_k : gradients.dk(b, trace.key_head, key.j));
    key.dv = copy_of(extra ? gradients.dextra_v : gradients.dv(b, trace.key_head, key.j));
  }
}

// The tensors are F64 and of the CPU; do_BHTD may be undefined.
template <class Op>
AttentionTrace attention_trace(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                               const AttentionConfig& config, const Tensor& do_BHTD, std::int64_t b, std::int64_t h,
                               std::int64_t i) {
  Head head(q_BHTD, k_BGKD, v_BGKD, config, h);
  AttentionTrace trace = trace_of_scores(head, b, h, i);
  trace.operation = operation_name<Op>();
  trace.formula = operation_formula<Op>();
  trace.o.resize(static_cast<std::size_t>(head.v.D));
  attention_row(op, head, b, h, i, trace.o, &trace.m, &trace.S);
  trace_weights(op, trace);
  trace_mix(trace);
  if (do_BHTD.defined())
    trace_backward(op, head, rows_of(do_BHTD)(b, h, head.row(i)),
                   attention_check::empty_gradients(q_BHTD, k_BGKD, config), b, trace);
  return trace;
}

}  // namespace sink::ref

namespace sink {

template <class Op>
AttentionTrace attention_trace(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                               const AttentionConfig& config, const Tensor& do_BHTD, std::int64_t b, std::int64_t h,
                               std::int64_t i) {
  attention_check::inputs(q_BHTD, k_BGKD, config);
  attention_check::like(v_BGKD, "v", k_BGKD, "k");
  if (do_BHTD.defined()) attention_check::like(do_BHTD, "do", q_BHTD, "q");
  attention_check::head(b, h, q_BHTD);
  SINK_CHECK(i >= config.first_position && i < config.first_position + q_BHTD.dim(2), "attention_trace",
             "expected a query from position " + std::to_string(config.first_position) + " to " +
                 std::to_string(config.first_position + q_BHTD.dim(2) - 1) + ", got " + std::to_string(i));
  auto wide = [](const Tensor& x) { return x.defined() ? x.to(Device::cpu).to(DType::F64) : x; };
  return ref::attention_trace(op, wide(q_BHTD), wide(k_BGKD), wide(v_BGKD), config.on_cpu(DType::F64), wide(do_BHTD), b,
                              h, i);
}

}  // namespace sink
