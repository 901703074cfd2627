// GLM 4: Qwen 2 whose heads rotate in part, elements 2 e and 2 e + 1 together. The class `glm` computes the models of
// June 2024, `glm4` those of April 2025, which also norm what sublayers add.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

TensorNames glm_gguf_names() {
  return {.own = {{"blocks.#.feed_forward.gate_up", {"blk.#.ffn_up"}}}, .tables = {"GGUF"}, .pairs_interleaved = true};
}

// llama.cpp reads queries, keys and values from three tensors, or from one, as older files have them.
void read_glm_gguf(const GgufKeys&, const WeightFile& file, OpenConfig& config) {
  static const TensorNames joined = [] {
    TensorNames names = glm_gguf_names();
    names.tables = {"GGUF of joined heads", "GGUF"};
    return names;
  }();
  if (file.find("blk.0.attn_qkv.weight")) config.names = &joined;
}

}  // namespace

Family glm() {
  return {
      .rotates_part = true,
      .type = "glm",
      .keys = {.classes = {"GlmForCausalLM", "GlmModel"},
               .defaults = R"({"num_hidden_layers": 40, "intermediate_size": 13696, "rms_norm_eps": 1.5625e-07,
                                   "max_position_embeddings": 131072, "vocab_size": 151552})",
               .read = {{"num_key_value_heads", "2", "heads of keys and values"},
                        {"head_dim", "128", "elements of a head"},
                        {"partial_rotary_factor", "0.5",
                         "part of a head that rotates, rounded down to whole elements"}},
               .fixed = {{"attention_bias", "true", "of queries, keys and values"}}},
      .names = {.own = {{"blocks.#.feed_forward.gate_up", {"layers.#.mlp.gate_up_proj"}}}, .pairs_interleaved = true},
      .read = read_rope_of_part,
      .writes = [](const OpenConfig& config) { return config.sizes.rotary_part != 1; },
      .gguf = {.architecture = "chatglm", .names = glm_gguf_names(), .read = read_glm_gguf}};
}

Family glm4() {
  Family family = glm();
  family.type = family.gguf.architecture = "glm4";
  family.keys.classes = {"Glm4ForCausalLM", "Glm4Model"};
  family.names.own.push_back({"blocks.#.attention.post_norm", {"layers.#.post_self_attn_layernorm"}});
  family.names.own.push_back({"blocks.#.feed_forward.post_norm", {"layers.#.post_mlp_layernorm"}});
  family.writes = nullptr;
  return family;
}

}  // namespace sink::open_families
