// Seed-OSS: Qwen 2 whose config sets the width of a head.
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family seed_oss() {
  return {
      .type = "seed_oss",
      .keys = {.classes = {"SeedOssForCausalLM", "SeedOssModel"},
               .defaults = R"({"num_hidden_layers": 64, "num_attention_heads": 80, "intermediate_size": 27648,
                                   "max_position_embeddings": 524288, "vocab_size": 155136})",
               .read = {{"num_key_value_heads", "8"},
                        {"head_dim", "128", "elements of a head; null: hidden_size / num_attention_heads"}},
               .fixed = {{"attention_bias", "true", "of queries, keys and values"},
                         {"attention_out_bias", "false", "of the output of attention"},
                         {"mlp_bias", "false", "biases of the feed-forward block"}},
               .ignored = {{"the class does not read it", {"pretraining_tp"}},
                           {"training only", {"residual_dropout"}}}},
      .rope_types = {"default", "linear"},
      .writes =
          [](const OpenConfig& config) {
            const Sizes& sizes = config.sizes;
            return sizes.heads * sizes.width_of_head() != sizes.width && sizes.rotary_part == 1;
          },
      .gguf = {.architecture = "seed_oss",
               .names = {.own = {{"blocks.#.feed_forward.norm", {"blk.#.post_attention_norm"}}}, .tables = {"GGUF"}}}};
}

}  // namespace sink::open_families
