// Nemotron and Minitron: LLaMA with LayerNorm whose gains are stored less 1, heads that rotate in part, and a feed-forward
// block without a gate, of relu(x)^2.
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family nemotron() {
  return {.layer_norm = true,
          .rotates_part = true,
          .type = "nemotron",
          .keys = {.without = {"rms_norm_eps"},
                   .classes = {"NemotronForCausalLM", "NemotronModel"},
                   .defaults = R"({"num_attention_heads": 48, "hidden_size": 6144, "intermediate_size": 24576,
                                   "max_position_embeddings": 4096, "vocab_size": 256000})",
                   .read = {{"num_key_value_heads", "null", "heads of keys and values; null: num_attention_heads"},
                            {"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"},
                            {"norm_eps", "1e-05", "of norms", "norm-epsilon"},
                            {"partial_rotary_factor", "0.5",
                             "part of a head that rotates, rounded down to whole elements"}},
                   .fixed = {{"hidden_act", R"("relu2")", "relu(x)^2"}, {"mlp_bias", "false", "biases of the feed-forward block"}}},
          .names = {.own = {{"blocks.#.feed_forward.up", {"layers.#.mlp.up_proj"}}}},
          .gains_less_one = true,
          .read = read_rope_of_part,
          .gguf = {.architecture = "nemotron"}};
}

}  // namespace sink::open_families
