// What an intervention does to each token: its loss, the distribution of the next token, and its hidden states.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/forward_hooks.h"

namespace sink {

struct TokenChange {
  double before = 0, after = 0;  // loss of the next token, nats; NaN without a target
  double divergence = 0;         // sum_v p_v log(p_v / q_v), nats, p before and q after
  bool greedy_changed = false;   // of the most probable next token
  // |h' - h| / |h| of the residual stream h, which becomes h': after the last block; the largest after any block, and
  // this block, from 0.
  double hidden_change = 0, largest_change = 0;
  std::int64_t layer = 0;

  // The change after the last block is at least as large as the hidden state itself.
  bool destroyed() const { return !(hidden_change < 1); }
};

double share_destroyed(const std::vector<TokenChange>& tokens);

// Keeps the residual stream after each block, and lets other hooks act.
class HiddenRecorder final : public ForwardHooks {
 public:
  explicit HiddenRecorder(ForwardHooks& hooks) : hooks_(hooks) {}
  const std::vector<Tensor>& hidden_LBTC() const { return hidden_; }

  void embedding(Var& e) override { hooks_.embedding(e); }
  void residual_pre(std::int64_t l, Residual& x) override { hooks_.residual_pre(l, x); }
  void residual_post(std::int64_t l, Residual& x) override;
  void residual_before_norm(std::int64_t l, const Tensor& x) override { hooks_.residual_before_norm(l, x); }
  void sublayer_input(std::int64_t l, SublayerKind kind, Var& h) override { hooks_.sublayer_input(l, kind, h); }
  void projection_input(std::int64_t l, SublayerKind kind, Var& y) override { hooks_.projection_input(l, kind, y); }
  void sublayer_output(std::int64_t l, SublayerKind kind, Var& f) override { hooks_.sublayer_output(l, kind, f); }
  void query_key_value(std::int64_t l, Var& q, Var& k, Var& v) override { hooks_.query_key_value(l, q, k, v); }
  void attention(AttentionPoint& point) override { hooks_.attention(point); }

 private:
  ForwardHooks& hooks_;
  std::vector<Tensor> hidden_;
};

// Fills in the changes of hidden states of the tokens of a batch, (B, T) in order, T without the extra tokens.
void add_hidden_changes(const std::vector<Tensor>& before_LBTC, const std::vector<Tensor>& after_LBTC,
                        std::int64_t extra_tokens, std::span<TokenChange> tokens_BT);

// A line of CSV for each intervention and token. `texts` are those of all tokens, in order.
struct Interventions;
std::string token_changes_csv(const Interventions& all, const std::vector<std::string>& texts);

}  // namespace sink
