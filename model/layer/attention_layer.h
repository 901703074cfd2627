// Multi-head causal self-attention: out(concat_h(attention_h(h W_q, h W_k, h W_v))) (Gu et al. 2025, section 2).
#pragma once

#include <cmath>

#include "autograd/ops/attention_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/linear_node.h"
#include "model/parameter_factory.h"
#include "model/probe.h"

namespace sink {

template <class Spec>
class AttentionLayer {
 public:
  using Op = typename Spec::Attention;
  using Position = typename Spec::Position;

  AttentionLayer(ParameterFactory& make, const std::string& prefix, std::int64_t layer)
      : layer_(layer),
        heads_(make.sizes().heads),
        qkv_(make.linear(prefix + ".qkv.weight", 3 * make.sizes().width, make.sizes().width)),
        out_(make.linear(prefix + ".out.weight", make.sizes().width, make.sizes().width)) {
    config_.scale = 1 / std::sqrt(static_cast<double>(make.sizes().head_width()));
  }

  Var operator()(const Var& h_BTC, const Position& position, Probe* probe) const {
    auto [q_BHTD, k_BHTD, v_BHTD] = split_heads(linear(h_BTC, qkv_), heads_);
    q_BHTD = position.turn(q_BHTD);
    k_BHTD = position.turn(k_BHTD);
    auto [o_BHTD, m_BHT, S_BHT] = attention<Op>(q_BHTD, k_BHTD, v_BHTD, config_);
    if (probe) show(*probe, q_BHTD.value(), k_BHTD.value(), v_BHTD.value(), m_BHT, S_BHT);
    return linear(merge_heads(o_BHTD), out_);
  }

 private:
  void show(Probe& probe, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& m, const Tensor& S) const {
    probe.attention({
        .layer = layer_,
        .q_BHTD = q,
        .k_BHTD = k,
        .v_BHTD = v,
        .statistics = [&](std::int64_t columns) { return attention_statistics<Op>(q, k, m, S, config_, columns); },
        .map = [&](std::int64_t b, std::int64_t h) { return attention_map<Op>(q, k, m, S, config_, b, h); },
    });
  }

  std::int64_t layer_;
  std::int64_t heads_;
  AttentionConfig config_{};
  const Parameter& qkv_;
  const Parameter& out_;
};

}  // namespace sink
