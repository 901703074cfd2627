// StableLM: LLaMA with LayerNorm, heads that rotate in part and, in some models, biases of queries, keys and values.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

TensorNames without_qkv_bias(TensorNames names) {
  names.own.push_back({"blocks.#.attention.qkv.bias", {}});
  return names;
}

void read_stablelm(const ConfigJson& json, OpenConfig& config) {
  static const TensorNames names = without_qkv_bias({});
  read_rope_of_part(json, config);
  if (!json.flag("use_qkv_bias")) config.names = &names;
}

// Like llama.cpp by the tensors: files have no key for it.
void read_stablelm_gguf(const GgufKeys&, const WeightFile& file, OpenConfig& config) {
  static const TensorNames names = without_qkv_bias({.tables = {"GGUF"}});
  if (!file.find("blk.0.attn_q.bias")) config.names = &names;
}

}  // namespace

Family stablelm() {
  return {.layer_norm = true,
          .rotates_part = true,
          .type = "stablelm",
          .keys = {.without = {"rms_norm_eps", "head_dim", "attention_bias"},
                   .classes = {"StableLmForCausalLM", "StableLmModel"},
                   .defaults = R"({"intermediate_size": 6912, "hidden_size": 2560, "max_position_embeddings": 4096,
                                   "vocab_size": 50304})",
                   .read = {{"num_key_value_heads", "32", "heads of keys and values"},
                            {"layer_norm_eps", "1e-05", "of norms", "norm-epsilon"},
                            {"use_qkv_bias", "false", "biases of queries, keys and values"},
                            {"partial_rotary_factor", "0.25",
                             "part of a head that rotates, rounded down to whole elements"}},
                   .fixed = {{"qk_layernorm", "false", "norms of queries and keys"},
                             {"use_parallel_residual", "false", "the feed-forward block reads what attention added"}},
                   .ignored = {{"the class does not read it", {"norm_eps", "rope_pct", "rotary_scaling_factor"}},
                               {"training only", {"hidden_dropout"}}}},
          .read = read_stablelm,
          .write = [](const OpenConfig&, nlohmann::ordered_json& json) { json["use_qkv_bias"] = true; },
          .gguf = {.architecture = "stablelm", .read = read_stablelm_gguf}};
}

}  // namespace sink::open_families
