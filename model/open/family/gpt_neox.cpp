// GPT-NeoX and Pythia.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_neox(const ConfigJson& json, OpenConfig& config) {
  const Rope rope = rope_of(rope_object(json), {"", json.real("rotary_emb_base"), 0, 0, json.real("rotary_pct")},
                            {"default", "linear"});
  json.expect("rope_theta", {rope.base});
  json.expect("partial_rotary_factor", {rope.part});
  take_rope(rope, config);
  take_rotary_part(json, rope, config.sizes);
}

void read_neox_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig&) {
  if (!keys.flag("use_parallel_residual", true)) keys.refuse("GPT-NeoX without a parallel residual is not known here");
}

}  // namespace

Family gpt_neox() {
  return {
      .layer_norm = true,
      .rotates_part = true,
      .type = "gpt_neox",
      .keys =
          {.like_llama = false,
           .classes = {"GPTNeoXForCausalLM", "GPTNeoXModel"},
           .defaults = R"({"num_hidden_layers": 44, "num_attention_heads": 64, "hidden_size": 6144,
                               "intermediate_size": 24576, "max_position_embeddings": 2048, "vocab_size": 50432,
                               "tie_word_embeddings": false, "rope_parameters": null, "rope_scaling": null})",
           .read = {{"layer_norm_eps", "1e-05", "of norms", "norm-epsilon"},
                    {"rotary_emb_base", "10000",
                     "base of rotary positions, where `rope_parameters` and `rope_scaling` have none", "rotary-base"},
                    {"rotary_pct", "0.25", "part of a head that rotates, rounded down to whole elements",
                     "rotary-part"},
                    {"rope_theta", "", "transformers 4 wrote it once more; must be the base that is used"},
                    {"partial_rotary_factor", "", "transformers 4 wrote it once more; must be the part that is used"}},
           .fixed = {{"rope_interleaved", "false"},
                     {"hidden_act", R"("gelu")"},
                     {"use_parallel_residual", "true", "attention and feed-forward block read the same vector"},
                     {"attention_bias", "true"}},
           .ignored = {{"training only",
                        {"attention_dropout", "hidden_dropout", "attention_probs_dropout_prob", "hidden_dropout_prob",
                         "classifier_dropout"}}}},
      .names = {.own = {{"embedding.token", {"embed_in"}},
                        {"unembedding", {"embed_out"}},
                        {"final_norm", {"final_layer_norm"}},
                        {"blocks.#.attention.norm", {"layers.#.input_layernorm"}},
                        {"blocks.#.attention.qkv", {"layers.#.attention.query_key_value"}},
                        {"blocks.#.attention.out", {"layers.#.attention.dense"}},
                        {"blocks.#.feed_forward.norm", {"layers.#.post_attention_layernorm"}},
                        {"blocks.#.feed_forward.up", {"layers.#.mlp.dense_h_to_4h"}},
                        {"blocks.#.feed_forward.down", {"layers.#.mlp.dense_4h_to_h"}}},
                .tables = {},
                .prefix = "gpt_neox.",
                .heads_by_group = true},
      .read = read_neox,
      .tokenizer_class = "GPTNeoXTokenizer",
      .gguf = {
          .architecture = "gptneox", .names = {.tables = {"GGUF of joined heads", "GGUF"}}, .read = read_neox_gguf}};
}

}  // namespace sink::open_families
