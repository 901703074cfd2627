// ActivationHooks: reads activations of a forward pass, and lets a Python function replace them, by the names of
// TransformerLens. The layouts are the engine's; sinklab/cache.py changes the order of the axes to TransformerLens's.
//
//   hook_embed                                              (B, P, C)
//   blocks.l.hook_resid_pre, hook_resid_post                (B, P, C)
//   blocks.l.hook_attn_out, hook_mlp_out                    (B, P, C), before a norm that follows the sublayer
//   blocks.l.ln1.hook_normalized, ln2.hook_normalized       (B, P, C), after gain and bias; where sublayers read a norm
//   blocks.l.attn.hook_q, hook_k                            (B, H, P, D), (B, G, P, D), before norm and rotation
//   blocks.l.attn.hook_rot_q, hook_rot_k, hook_v            as attention reads them
//   blocks.l.attn.hook_attn_scores, hook_pattern            (B, H, P, E + P)
//   blocks.l.attn.hook_z                                    (B, H, P, D)
//   blocks.l.mlp.hook_post                                  (B, P, F), of a mixture of E experts (B, P, E F)
//
// P positions: the model's own extra tokens, then the T tokens. E = 1 with an extra key, whose column is the first.
// Scores of keys that a query does not see are -inf. With a tape, the gradient of the loss is NAME_grad: of a pattern
// also at keys that a query does not see, of scores 0 there.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace sink::python {

// All names for a model of so many layers, in the order of the forward pass. The sublayers of some placements
// (OutputNorm, PostNorm) read the residual stream as it is, which is no norm.
std::vector<std::string> activation_names(const Sizes& sizes, bool sublayers_read_norms);
// Throws Error (Exit::usage) for a name, or NAME_grad, that the model does not have, or that cannot be `replaced`.
void check_activation_name(const std::string& name, const std::vector<std::string>& known, bool replaced);

class ActivationHooks final : public ForwardHooks {
 public:
  // `read`: the names to keep; `replaced`: those that `function`(array, name) may replace. It returns an array of the
  // same shape, or None to change nothing; None if the array is read-only. Called in a Computation. Keeps references to
  // all arguments, and lives as long as the tape. What replaces an activation is a leaf of the tape.
  ActivationHooks(const LanguageModel& model, const std::set<std::string>& read, const std::set<std::string>& replaced,
                  nanobind::handle function)
      : model_(model), read_(read), replaced_(replaced), function_(function) {}

  bool wants_gradients() const;
  std::map<std::string, Tensor> take() { return std::move(kept_); }

  void embedding(Var& e_BTC) override { visit("hook_embed", e_BTC); }
  void residual_pre(std::int64_t layer, Residual& x_BTC) override { visit(block(layer) + "hook_resid_pre", x_BTC); }
  void residual_post(std::int64_t layer, Residual& x_BTC) override;
  void sublayer_input(std::int64_t layer, SublayerKind kind, Var& h_BTC) override;
  void projection_input(std::int64_t layer, SublayerKind kind, Var& y_BTF) override;
  void sublayer_output(std::int64_t layer, SublayerKind kind, Var& f_BTC) override;
  void projected_heads(std::int64_t layer, Var& qkv_BTE) override;
  void query_key_value(std::int64_t layer, Var& q_BHTD, Var& k_BGTD, Var& v_BGTD) override;
  void attention(AttentionPoint& point) override;

 private:
  static std::string block(std::int64_t layer) { return "blocks." + std::to_string(layer) + "."; }
  bool wants(const std::string& name) const { return read_.contains(name) || replaced_.contains(name); }
  // Asks the function for another value; undefined: none.
  Tensor replacement(const std::string& name, const Tensor& value) const;
  // Replaces, then keeps. Whether it was replaced; its gradient, once that is complete.
  bool visit(const std::string& name, Tensor& value);
  void visit(const std::string& name, Var& value);
  void visit(const std::string& name, Residual& x_BTC);
  bool visit_heads(const std::string& prefix, const std::string& suffix, Tensor& qkv_BTE);

  const LanguageModel& model_;
  const std::set<std::string>&read_, &replaced_;
  nanobind::handle function_;
  std::map<std::string, Tensor> kept_;
};

}  // namespace sink::python
