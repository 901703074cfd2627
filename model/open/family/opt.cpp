// OPT.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_opt(const ConfigJson& json, OpenConfig& config) {
  if (json.has("word_embed_proj_dim")) json.expect("word_embed_proj_dim", {config.sizes.width});
  config.sizes.norm_epsilon = 1e-5;
}

}  // namespace

Family opt() {
  return {.layer_norm = true,
          .rotary = false,
          .type = "opt",
          .keys = {.like_llama = false,
                   .classes = {"OPTForCausalLM", "OPTModel"},
                   .defaults = R"({"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 768, "vocab_size":
                                   50272})",
                   .read = {{"ffn_dim", "3072", "elements inside the feed-forward block", "feed-forward"},
                            {"max_position_embeddings", "2048", "the context"},
                            {"word_embed_proj_dim", "null", "must be hidden_size; null: it is"}},
                   .fixed = {{"activation_function", R"("relu")", "of the feed-forward block"},
                             {"do_layer_norm_before", "true", "norms come before attention and the feed-forward block"},
                             {"_remove_final_layer_norm", "false", "there is a norm before the unembedding"},
                             {"enable_bias", "true", "biases of all projections"},
                             {"layer_norm_elementwise_affine", "true", "norms have gains and biases"},
                             {"tie_word_embeddings", "true"}},
                   .ignored = {{"training only",
                                {"dropout", "attention_dropout", "activation_dropout", "layerdrop", "init_std"}}}},
          .names = {.own = {{"embedding.token", {"decoder.embed_tokens"}},
                            {"embedding.position", {"decoder.embed_positions"}},
                            {"final_norm", {"decoder.final_layer_norm"}},
                            {"blocks.#.attention.norm", {"decoder.layers.#.self_attn_layer_norm"}},
                            {"blocks.#.attention.qkv",
                             {"decoder.layers.#.self_attn.q_proj", "decoder.layers.#.self_attn.k_proj",
                              "decoder.layers.#.self_attn.v_proj"}},
                            {"blocks.#.attention.out", {"decoder.layers.#.self_attn.out_proj"}},
                            {"blocks.#.feed_forward.norm", {"decoder.layers.#.final_layer_norm"}},
                            {"blocks.#.feed_forward.up", {"decoder.layers.#.fc1"}},
                            {"blocks.#.feed_forward.down", {"decoder.layers.#.fc2"}}},
                    .tables = {},
                    .first_position = 2},
          .read = read_opt,
          .write = [](const OpenConfig& config,
                      nlohmann::ordered_json& json) { json["word_embed_proj_dim"] = config.sizes.width; },
          .vocabulary = {.special = "</s>", .begins = true}};
}

}  // namespace sink::open_families
