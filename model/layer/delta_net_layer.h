// Gated DeltaNet (Yang, Kautz and Hatamizadeh 2025), as in Qwen3-Next and Qwen3.5: a layer that keeps a state of fixed
// size in place of keys and values of all tokens. From the normed hidden state h:
//
//   q, k, v = silu(convolution(W_qkv h))                 over the last tokens of each channel
//   o = delta_rule(q, k, v, W_a h, W_b h)                engine/ops/delta_rule/delta_rule.h
//   W_out [rms_norm(o of each head) silu(W_z h)]
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/convert_node.h"
#include "autograd/ops/delta_rule_node.h"
#include "autograd/ops/gate_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/linear_node.h"
#include "autograd/ops/norm_node.h"
#include "autograd/ops/short_convolution_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

class DeltaNetLayer {
 public:
  DeltaNetLayer(ParameterFactory& make, const std::string& prefix)
      : heads_(heads_of(make.sizes())),
        values_(heads_.heads * heads_.value_width),
        qkv_(make.linear(prefix + ".delta.qkv.weight", heads_.width(), make.sizes().width)),
        convolution_(make.recurrence(prefix + ".delta.convolution.weight",
                                     {heads_.width(), make.sizes().convolution_tokens()}, "E K",
                                     make.sizes().convolution_tokens())),
        a_(make.linear(prefix + ".delta.a.weight", heads_.heads, make.sizes().width)),
        b_(make.linear(prefix + ".delta.b.weight", heads_.heads, make.sizes().width)),
        log_rate_(make.recurrence(prefix + ".delta.log_rate", {heads_.heads}, "H", 1)),
        bias_(make.recurrence(prefix + ".delta.bias", {heads_.heads}, "H", 1)),
        gain_(make.gain(prefix + ".delta.norm.gain", heads_.value_width, "D")),
        z_(make.linear(prefix + ".delta.z.weight", values_, make.sizes().width)),
        out_(make.linear(prefix + ".delta.out.weight", make.sizes().width, values_)),
        compute_(make.compute()),
        real_(make.real()),
        epsilon_(make.sizes().epsilon()) {}

  // h (B, T, C) -> (B, T, C).
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const {
    SINK_CHECK(!ctx.documents.defined(), "DeltaNet",
               "the layers without attention read a sequence as one text: documents that do not see each other are not "
               "computed; leave out --document-mask",
               Exit::usage);
    SINK_CHECK(!ctx.cache || ctx.cache->window().window == 0, "DeltaNet",
               "the layers without attention keep a state of all tokens, from which none can be dropped", Exit::usage);
    KeyValueCache::Recurrence none, &held = ctx.cache ? ctx.cache->recurrence(ctx.layer) : none;
    const Var qkv_BTE = linear(h_BTC, qkv_);
    const Var x_BTE = activate<SiluFunction>(short_convolution(qkv_BTE, held.before_BTE, convolution_));
    if (!held.state_BHDD.defined())
      held.state_BHDD =
          h_BTC.value().new_zeros({h_BTC.value().dim(0), heads_.heads, heads_.key_width, heads_.value_width}, real_);
    if (ctx.cache) held.before_BTE = last_rows(held.before_BTE, qkv_BTE.value(), convolution_.info().shape[1] - 1);
    const Var o_BTE =
        delta_rule(x_BTE, linear(h_BTC, a_), linear(h_BTC, b_), log_rate_, bias_, heads_, held.state_BHDD);
    const Var o_BHTD = convert(unmerge_heads(o_BTE, heads_.heads), real_);
    const Var y_BTE = merge_heads(rms_norm(o_BHTD, gain_, compute_, epsilon_));
    Var gated_BTE = gate(y_BTE, linear(h_BTC, z_), GateFunction::silu);
    ctx.hooks->projection_input(ctx.layer, SublayerKind::attention, gated_BTE);
    return linear(gated_BTE, out_);
  }

 private:
  static DeltaHeads heads_of(const Sizes& sizes) {
    const std::int64_t H = sizes.delta_heads > 0 ? sizes.delta_heads : sizes.heads, D = sizes.width_of_head();
    return {.key_heads = sizes.delta_key_heads > 0 ? sizes.delta_key_heads : H,
            .heads = H,
            .key_width = sizes.delta_key_width > 0 ? sizes.delta_key_width : D,
            .value_width = sizes.delta_value_width > 0 ? sizes.delta_value_width : D,
            .alternating = sizes.delta_alternating};
  }
  // The last `rows` rows of each sequence; before the first are those of `before`, or zeros.
  static Tensor last_rows(const Tensor& before_BTE, const Tensor& x_BTE, std::int64_t rows) {
    const std::int64_t B = x_BTE.dim(0), T = x_BTE.dim(1), E = x_BTE.dim(2), from_x = std::min(T, rows);
    Tensor last_BTE = x_BTE.new_zeros({B, rows, E}, x_BTE.dtype());
    for (std::int64_t b = 0; b < B; ++b) {
      auto copy = [&](const Tensor& from, std::int64_t first, std::int64_t to, std::int64_t count) {
        if (count == 0) return;
        last_BTE.slice((b * rows + to) * E, {count, E})
            .copy_from(from.slice((b * from.dim(1) + first) * E, {count, E}));
      };
      if (before_BTE.defined()) copy(before_BTE, from_x, 0, rows - from_x);
      copy(x_BTE, T - from_x, rows - from_x, from_x);
    }
    return last_BTE;
  }

  DeltaHeads heads_;
  std::int64_t values_;  // elements of the values of all heads
  const Parameter &qkv_, &convolution_, &a_, &b_, &log_rate_, &bias_, &gain_, &z_, &out_;
  DType compute_, real_;
  double epsilon_;
};

}  // namespace sink
