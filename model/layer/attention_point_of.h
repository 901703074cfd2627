// AttentionPointOf: what hooks may request of the attention of a layer, computed by its attention operation.
#pragma once

#include <cmath>

#include "autograd/ops/attention_node.h"
#include "engine/ops/attention/op/attention_row.h"
#include "model/attention_point.h"

namespace sink {

// Whether a_ij / a_ik = e^(s_ij - s_ik) in every row: g(x) is e^x up to a factor, and the weights are g over a divisor.
template <class Op>
bool has_exponential_weights_of(const Op& op) {
  if constexpr (Op::shift == Shift::threshold || Op::has_post || Op::has_row_functions) {
    return false;
  } else {
    for (double x = -60; x <= 60; x += 0.37)  // also where a formula may be cut off
      if (!(std::abs(op.g(x) / op.g(0.0) * std::exp(-x) - 1) < 1e-9)) return false;
    return true;
  }
}

// Computes the requests of hooks from the operands and from m and S of each row (engine/ops/attention/attention.h).
template <class Op>
class AttentionPointOf final : public AttentionPoint {
 public:
  // Keeps references to the operands and to `result`, whose o_BHTD a hook may replace.
  AttentionPointOf(std::int64_t layer, const Op& op, const AttentionInputs& inputs, AttentionResult& result,
                   bool has_extra_key)
      : AttentionPoint(layer, inputs.q_BHTD.value(), inputs.k_BGKD.value(), inputs.v_BGKD.value(), result.o_BHTD,
                       has_extra_key, result.config.extra_key.v_HD, NormalizesRows<Op>),
        op_(op),
        m_BHT_(result.m_BHT),
        S_BHT_(result.S_BHT),
        config_(result.config) {}

  AttentionStatistics statistics(std::int64_t columns) const override {
    return attention_statistics(op_, q_BHTD, k_BGTD, v_BGTD, m_BHT_, S_BHT_, config_, columns).to(Device::cpu);
  }
  AttentionStatistics statistics_without_products(std::int64_t columns) const override {
    const std::int64_t B = config_.document_starts_BK.defined() ? q_BHTD.dim(0) : 1;
    const Tensor q = q_BHTD.new_zeros({B, q_BHTD.dim(1), q_BHTD.dim(2), q_BHTD.dim(3)}, q_BHTD.dtype()),
                 k = k_BGTD.rows(0, B), v = v_BGTD.rows(0, B);
    Tensor o = Tensor::empty_like(q), m = Tensor::empty_like(m_BHT_.rows(0, B)), S = Tensor::empty_like(m);
    sink::attention<Op>(op_, q, k, v, config_, o, m, S);
    return attention_statistics(op_, q, k, v, m, S, config_, columns).to(Device::cpu);
  }
  bool has_exponential_weights() const override { return has_exponential_weights_of(op_); }
  AttentionKeySums key_sums() const override {
    return attention_key_sums(op_, q_BHTD, k_BGTD, m_BHT_, S_BHT_, config_);
  }
  Tensor pattern(std::int64_t b, std::int64_t h) const override {
    return attention_pattern(op_, q_BHTD, k_BGTD, m_BHT_, S_BHT_, config_, b, h);
  }
  Tensor mix(const Tensor& k_BGKD, const Tensor& v_BGKD, const Tensor& extra_v) const override {
    AttentionConfig config = config_;
    config.extra_key.v_HD = extra_v;
    Tensor o = Tensor::empty_like(q_BHTD), m = Tensor::empty_like(m_BHT_), S = Tensor::empty_like(S_BHT_);
    sink::attention<Op>(op_, q_BHTD, k_BGKD, v_BGKD, config, o, m, S);
    return o;
  }
  Trace trace() const override {
    return [op = op_, q = q_BHTD, k = k_BGTD, v = v_BGTD, config = config_](const Tensor& do_BHTD, std::int64_t b,
                                                                            std::int64_t h, std::int64_t i) {
      return attention_trace(op, q, k, v, config, do_BHTD, b, h, i);
    };
  }

 private:
  const Op& op_;
  const Tensor &m_BHT_, &S_BHT_;
  const AttentionConfig& config_;
};

}  // namespace sink
