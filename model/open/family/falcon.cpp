// Falcon. The newer architecture has groups of heads, and two norms in a block unless one is asked for; the older has
// one norm, and one key and value head for all queries (`multi_query`) or one for each.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

TensorNames falcon_names(const char* attention, const char* feed_forward) {
  return {.own = {{"blocks.#.attention.norm", {attention}},
                  {"blocks.#.feed_forward.norm", {feed_forward}},
                  {"embedding.token", {"word_embeddings"}},
                  {"unembedding", {"lm_head"}},
                  {"final_norm", {"ln_f"}},
                  {"blocks.#.attention.qkv", {"h.#.self_attention.query_key_value"}},
                  {"blocks.#.attention.out", {"h.#.self_attention.dense"}},
                  {"blocks.#.feed_forward.up", {"h.#.mlp.dense_h_to_4h"}},
                  {"blocks.#.feed_forward.down", {"h.#.mlp.dense_4h_to_h"}}},
          .tables = {},
          .prefix = "transformer.",
          .heads_by_group = true};
}

TensorNames falcon_gguf_names(const char* attention, const char* feed_forward) {
  return {.own = {{"blocks.#.attention.norm", {attention}}, {"blocks.#.feed_forward.norm", {feed_forward}}},
          .tables = {"GGUF of joined heads", "GGUF"}};
}

void read_falcon(const ConfigJson& json, OpenConfig& config) {
  const std::int64_t heads = config.sizes.heads;
  const bool newer = json.flag("new_decoder_architecture");
  if (!newer && !json.flag("multi_query") && json.integer("num_kv_heads", heads) != heads)
    json.refuse("`num_kv_heads` must be `num_attention_heads`, " + std::to_string(heads) +
                ", where `multi_query` and `new_decoder_architecture` are false, got " +
                std::to_string(json.integer("num_kv_heads")) + "; transformers does not compute that");
  const std::int64_t norms = json.integer("num_ln_in_parallel_attn", newer ? 2 : 1);
  if (norms < 1 || norms > (newer ? 2 : 1))
    json.refuse("`num_ln_in_parallel_attn` must be 1, or 2 with `new_decoder_architecture`, got " +
                std::to_string(norms));
  static const TensorNames one_norm = falcon_names("h.#.input_layernorm", "h.#.input_layernorm");
  if (norms == 1) config.names = &one_norm;
  if (!newer) config.sizes.kv_heads = json.flag("multi_query") ? 1 : heads;
}

void read_falcon_gguf(const GgufKeys& keys, const WeightFile& file, OpenConfig& config) {
  if (keys.text("tensor_data_layout", "") != "jploski")
    keys.refuse("`falcon.tensor_data_layout` must be jploski, with all queries before all keys and all values");
  static const TensorNames one_norm = falcon_gguf_names("blk.#.attn_norm", "blk.#.attn_norm");
  if (!file.find("blk.0.attn_norm_2.weight")) config.names = &one_norm;
}

}  // namespace

Family falcon() {
  return {.layer_norm = true,
          .type = "falcon",
          .keys = {.like_llama = false,
                   .classes = {"FalconForCausalLM", "FalconModel"},
                   .defaults = R"({"num_hidden_layers": 32, "num_attention_heads": 71, "hidden_size": 4544,
                                   "max_position_embeddings": 2048, "vocab_size": 65024, "tie_word_embeddings": true,
                                   "rope_parameters": null, "rope_scaling": null, "rope_theta": 10000})",
                   .read = {{"new_decoder_architecture", "false", "the newer architecture, of Falcon 40B"},
                            {"num_kv_heads", "null",
                             "heads of keys and values in the newer architecture; null: as many as attention heads, "
                             "which it must be in the older without `multi_query`",
                             "kv-heads"},
                            {"multi_query", "true",
                             "in the older architecture: one key and value head; false: as many as attention heads"},
                            {"num_ln_in_parallel_attn", "null",
                             "norms of a block; null: 2 in the newer architecture, 1 in the older"},
                            {"ffn_hidden_size", "null", "elements inside the feed-forward block; null: 4 hidden_size",
                             "feed-forward"},
                            {"layer_norm_epsilon", "1e-05", "of norms", "norm-epsilon"}},
                   .fixed = {{"parallel_attn", "true", "attention and feed-forward block read the same vector"},
                             {"rope_interleaved", "false"},
                             {"alibi", "false", "positions are rotary"},
                             {"bias", "false", "biases of linear layers"},
                             {"apply_residual_connection_post_layernorm", "false", "the class does not read it"},
                             {"activation", R"("gelu")", "of the feed-forward block"}},
                   .ignored = {{"training only", {"attention_dropout", "hidden_dropout"}}}},
          .rope_types = {"default", "linear"},
          .own_code = "Falcon",
          .names = falcon_names("h.#.ln_attn", "h.#.ln_mlp"),
          .read = read_falcon,
          .write =
              [](const OpenConfig&, nlohmann::ordered_json& json) {
                json["new_decoder_architecture"] = true;
                json["num_ln_in_parallel_attn"] = 2;
              },
          .gguf = {.architecture = "falcon",
                   .names = falcon_gguf_names("blk.#.attn_norm_2", "blk.#.attn_norm"),
                   .read = read_falcon_gguf}};
}

}  // namespace sink::open_families
