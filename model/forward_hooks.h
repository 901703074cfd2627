// ForwardHooks: named points of a forward pass where an experiment reads or replaces a tensor. In training, ranks
// reduce gradients through hooks (train/distributed/data_parallel.cpp).
//
//   point                    TransformerLens                                   shape
//   embedding                hook_embed                                        (B, T, C)
//   residual_pre             blocks.l.hook_resid_pre                           (B, T, C)
//   sublayer_input           blocks.l.ln1.hook_normalized, ln2; after the gain  (B, T, C)
//   projected_heads          blocks.l.attn.hook_q, hook_k, side by side         (B, T, (H + 2 G) D)
//   query_key_value          blocks.l.attn.hook_rot_q, hook_rot_k, hook_v      (B, H, T, D), (B, G, T, D)
//   attention: pattern       blocks.l.attn.hook_pattern                        (T, T) of a sequence and head
//   attention: o_BHTD        blocks.l.attn.hook_z                              (B, H, T, D)
//   projection_input         blocks.l.mlp.hook_post; joined and gated hook_z   (B, T, F) or (B, T, H D)
//   sublayer_output          blocks.l.hook_attn_out, hook_mlp_out              (B, T, C)
//   residual_before_norm     (none)                                            (B, T, C)
//   residual_post            blocks.l.hook_resid_post                          (B, T, C)
//
// Layers count from 0; T includes the model's own extra tokens. A replaced tensor has the same shape and type.
#pragma once

#include "model/attention_point.h"
#include "model/residual.h"

namespace sink {

enum class SublayerKind { attention, feed_forward, shared_expert };  // the last is a part of feed_forward

class ForwardHooks {
 public:
  virtual ~ForwardHooks() = default;

  // The token embeddings with the extra tokens of the model first, before positions are added.
  virtual void embedding(Var& /*e_BTC*/) {}
  // The residual stream before and after a block.
  virtual void residual_pre(std::int64_t /*layer*/, Residual& /*x_BTC*/) {}
  virtual void residual_post(std::int64_t /*layer*/, Residual& /*x_BTC*/) {}
  // Post-norm only: the sum x + f(x) before the last norm of the block.
  virtual void residual_before_norm(std::int64_t /*layer*/, const Tensor& /*sum_BTC*/) {}
  // Of attention or feed-forward: its input, the input of its last product, and its output before any norm. A shared
  // expert has another last product.
  virtual void sublayer_input(std::int64_t /*layer*/, SublayerKind, Var& /*h_BTC*/) {}
  virtual void projection_input(std::int64_t /*layer*/, SublayerKind, Var& /*y_BTF*/) {}
  virtual void sublayer_output(std::int64_t /*layer*/, SublayerKind, Var& /*f_BTC*/) {}
  // Queries, keys and values before norms, rotation and feature maps; after them.
  virtual void projected_heads(std::int64_t /*layer*/, Var& /*qkv_BTE*/) {}
  virtual void query_key_value(std::int64_t /*layer*/, Var& /*q_BHTD*/, Var& /*k_BGTD*/, Var& /*v_BGTD*/) {}
  // The attention pattern and the outputs of the heads.
  virtual void attention(AttentionPoint&) {}

  // Does nothing at any point.
  static ForwardHooks& none() {
    static ForwardHooks hooks;
    return hooks;
  }
};

// Hooks that read hidden states 0 ... L, numbered like output_hidden_states of transformers: 0 is the embedding with
// positions, l the output of block l - 1. Unlike there, the last one is not normed.
struct HiddenStateHooks : ForwardHooks {
  virtual void hidden_state(std::int64_t l, const Tensor& x_BTC) = 0;

  void residual_pre(std::int64_t layer, Residual& x_BTC) override {
    if (layer == 0) hidden_state(0, x_BTC.sum().value());
  }
  void residual_post(std::int64_t layer, Residual& x_BTC) override { hidden_state(layer + 1, x_BTC.sum().value()); }
};

}  // namespace sink
