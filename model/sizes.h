// The sizes of a model, set at run time. Policies are types (model/spec.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/dtype.h"
#include "engine/key_range.h"

namespace sink {

// LongRoPE (Ding et al. 2024; Phi-3): divisors of the frequencies of all pairs, `short_E` for texts of at most
// rotary_context tokens and `long_E` for longer ones; empty: none. cos and sin are multiplied by `length`.
struct LongRope {
  std::vector<double> short_E, long_E;
  double length = 1;
};

struct Sizes {
  std::int64_t layers = 0;
  std::int64_t heads = 0;         // H
  std::int64_t width = 0;         // C
  std::int64_t feed_forward = 0;  // F
  std::int64_t context = 0;       // longest T
  std::int64_t vocabulary = 0;    // V
  std::int64_t kv_heads = 0;      // G, heads of keys and values, each read by H / G query heads; 0: H
  std::int64_t window = 0;        // keys a token sees, including its own; 0: all before it
  std::int64_t prefix = 0;        // tokens that every token sees
  std::int64_t head_width = 0;    // D, elements of a query, key or value; 0: width / heads

  // Sizes in which model families differ; 0: the default of the policy.
  std::int64_t global_every = 0;         // every n-th block sees all keys before it, without the window
  double norm_epsilon = 0;               // added to the mean square in a norm; 0: 1e-5
  double attention_scale = 0;            // of q . k; 0: 1 / sqrt(D)
  double rotary_base = 0;                // 0: 10000
  double rotary_part = 0;                // the fraction of the elements of a head that rotate, the first ones; 0: all
  double rotary_factor = 0;              // divides rotary frequencies, as the position policy says; 0: not
  double rotary_local_base = 0;          // base of layers with a window, if others have none; 0: rotary_base
  std::int64_t rotary_context = 0;       // the context before frequencies were scaled; 0: context
  std::int64_t no_rope_every = 0;        // every n-th block has no rotary positions; 0: none
  std::int64_t experts = 0;              // E experts of a mixture, each of width F; 0: 8
  std::int64_t chosen_experts = 0;       // top k for every token; 0: 2
  std::int64_t shared_feed_forward = 0;  // width inside the expert that all tokens go through; 0: F
  std::int64_t attention_every = 0;    // every n-th block has attention, the others a gated delta rule; 0: all have it
  std::int64_t delta_heads = 0;        // H of delta rules, those of values; 0: heads
  std::int64_t delta_key_heads = 0;    // their heads of queries and keys; 0: delta_heads
  std::int64_t delta_key_width = 0;    // elements of a query or key of a delta rule; 0: D
  std::int64_t delta_value_width = 0;  // and of a value; 0: D
  std::int64_t convolution = 0;        // tokens of the convolution before a delta rule; 0: 4

  // From files of other programs: no settings, and no part of a checkpoint. The lists have a value for each block,
  // where the blocks without a window, or those that rotate, are no "every n-th"; empty: global_every and no_rope_every
  // hold.
  LongRope long_rope = {};
  bool delta_alternating = false;  // heads of a delta rule read key heads in turn, not adjacent ones the same
  std::vector<bool> global_layers = {}, rotary_layers = {};

  std::int64_t width_of_head() const { return head_width > 0 ? head_width : width / heads; }  // D
  std::int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  double epsilon() const { return norm_epsilon > 0 ? norm_epsilon : 1e-5; }
  double scale() const {
    return attention_scale > 0 ? attention_scale : 1 / std::sqrt(static_cast<double>(width_of_head()));
  }
  std::int64_t expert_count() const { return experts > 0 ? experts : 8; }
  std::int64_t top_k() const { return chosen_experts > 0 ? chosen_experts : 2; }
  std::int64_t shared_width() const { return shared_feed_forward > 0 ? shared_feed_forward : feed_forward; }
  std::int64_t convolution_tokens() const { return convolution > 0 ? convolution : 4; }
  // Whether block `layer`, from 0, has attention; how many have; the index of one among them, and the block at an index.
  bool has_attention(std::int64_t layer) const { return attention_every <= 1 || (layer + 1) % attention_every == 0; }
  std::int64_t attention_layers() const { return attention_every <= 1 ? layers : layers / attention_every; }
  std::int64_t attention_index(std::int64_t layer) const {
    return attention_every <= 1 ? layer : (layer + 1) / attention_every - 1;
  }
  std::int64_t attention_layer(std::int64_t index) const {
    return attention_every <= 1 ? index : (index + 1) * attention_every - 1;
  }
  std::int64_t first_context() const { return rotary_context > 0 ? rotary_context : context; }
  // Whether queries and keys of block `layer`, from 0, rotate.
  bool rotates(std::int64_t layer) const {
    if (!rotary_layers.empty()) return rotary_layers[static_cast<std::size_t>(layer)];
    return no_rope_every == 0 || (layer + 1) % no_rope_every != 0;
  }
  // Whether block `layer`, from 0, sees all keys before it.
  bool is_global(std::int64_t layer) const {
    if (window == 0) return true;
    if (!global_layers.empty()) return global_layers[static_cast<std::size_t>(layer)];
    return global_every > 0 && (layer + 1) % global_every == 0;
  }
};

}  // namespace sink
