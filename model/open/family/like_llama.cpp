// Families whose classes compute what LLaMA's does, with other keys, defaults or names of tensors.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// The keys that these families have, and the class of LLaMA.
Family like_llama(const char* type, std::vector<std::string> classes, const char* defaults) {
  for (const char* one : {"LlamaForCausalLM", "LlamaModel"}) classes.emplace_back(one);  // which computes some of them
  return {.type = type,
          .keys = {.classes = std::move(classes),
                   .defaults = defaults,
                   .fixed = {{"mlp_bias", "false", "biases of the feed-forward block"}}},
          .rope_types = {"default", "linear"},
          .writes = [](const OpenConfig&) { return false; }};
}

// The class takes older names where both are there.
void read_exaone(const ConfigJson& json, OpenConfig& config) {
  config.sizes.layers = json.integer("num_layers", config.sizes.layers);
  config.sizes.norm_epsilon = json.real("layer_norm_epsilon", config.sizes.norm_epsilon);
}

void read_cwm(const ConfigJson& json, OpenConfig& config) {
  json.expect_positive({"sliding_window"});
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 4 == 0; });
  const bool by_default = !json.has("rope_parameters") && !has_object(json, "rope_scaling");
  take_rope(by_default ? Rope{"llama3", 1e6, 16, 8192, 1} : whole_rope(json, {"default", "llama3"}), config);
}

}  // namespace

// Elements 2 e and 2 e + 1 of a head rotate together.
Family helium() {
  Family family = like_llama("helium", {"HeliumForCausalLM", "HeliumModel"},
                             R"({"num_hidden_layers": 24, "num_attention_heads": 20, "hidden_size": 2560,
                                 "intermediate_size": 7040, "max_position_embeddings": 4096, "vocab_size": 48000,
                                 "rms_norm_eps": 1e-08, "rope_theta": 100000})");
  family.keys.read = {{"num_key_value_heads", "20", "heads of keys and values"},
                      {"head_dim", "128", "elements of a head, which must be hidden_size / num_attention_heads"}};
  family.names.pairs_interleaved = true;
  return family;
}

Family internlm3() {
  Family family = like_llama("internlm3", {"InternLM3ForCausalLM", "InternLM3Model"},
                             R"({"num_hidden_layers": 48, "intermediate_size": 10240, "max_position_embeddings": 32768,
                                 "vocab_size": 128512, "rms_norm_eps": 1e-05})");
  family.keys.read = {{"num_key_value_heads", "2"},
                      {"head_dim", "128", "elements of a head; null: hidden_size / num_attention_heads"}};
  family.keys.fixed.push_back({"qkv_bias", "false", "biases of attention's projections"});
  family.keys.fixed.push_back({"bias", "false", "biases of the feed-forward block"});
  family.rope_types.push_back("dynamic");
  family.own_code = "InternLM3";
  return family;
}

Family iquestcoder() {
  Family family = like_llama("iquestcoder", {"IQuestCoderForCausalLM", "IQuestCoderModel"},
                             R"({"num_hidden_layers": 80, "num_attention_heads": 40, "hidden_size": 5120,
                                 "intermediate_size": 27648, "max_position_embeddings": 131072, "vocab_size": 76800,
                                 "rms_norm_eps": 1e-05})");
  family.keys.read = {{"num_key_value_heads", "8"},
                      {"head_dim", "128", "elements of a head; null: hidden_size / num_attention_heads"}};
  family.keys.fixed.push_back({"clip_qkv", "null", "queries, keys and values are not clipped"});
  family.keys.fixed.push_back({"use_sliding_window", "false", "there is no window"});
  family.keys.fixed.push_back({"sliding_window", "null", "there is no window"});
  family.keys.ignored.push_back({"there is no window", {"max_window_layers"}});
  family.own_code = "IQuestCoder";
  return family;
}

// EXAONE 3.
Family exaone() {
  Family family = like_llama("exaone", {"ExaoneForCausalLM", "ExaoneModel"},
                             R"({"intermediate_size": 14336, "max_position_embeddings": 4096, "vocab_size": 102400,
                                 "rms_norm_eps": 1e-05, "rope_theta": 500000})");
  family.with_llama3_rope = "llama3";
  family.keys.read = {{"num_key_value_heads", "8"},
                      {"num_layers", "", "an older name of num_hidden_layers, and taken before it"},
                      {"layer_norm_epsilon", "", "an older name of rms_norm_eps, and taken before it"}};
  family.keys.fixed.push_back({"activation_function", R"("silu")", "an older name of hidden_act"});
  family.keys.ignored = {{"training only", {"embed_dropout"}}};
  family.rope_types.push_back("llama3");
  family.own_code = "Exaone";
  family.names = {.own = {{"embedding.token", {"wte"}},
                          {"unembedding", {"lm_head"}},
                          {"final_norm", {"ln_f"}},
                          {"blocks.#.attention.norm", {"h.#.ln_1"}},
                          {"blocks.#.attention.qkv",
                           {"h.#.attn.attention.q_proj", "h.#.attn.attention.k_proj", "h.#.attn.attention.v_proj"}},
                          {"blocks.#.attention.out", {"h.#.attn.attention.out_proj"}},
                          {"blocks.#.feed_forward.norm", {"h.#.ln_2"}},
                          {"blocks.#.feed_forward.gate_up", {"h.#.mlp.c_fc_0", "h.#.mlp.c_fc_1"}},
                          {"blocks.#.feed_forward.down", {"h.#.mlp.c_proj"}}},
                  .tables = {},
                  .prefix = "transformer."};
  family.read = read_exaone;
  family.gguf = {.architecture = "exaone"};
  return family;
}

// CWM: LLaMA 3 with a window in most layers.
Family cwm() {
  Family family = like_llama("cwm", {"CwmForCausalLM", "CwmModel"},
                             R"({"num_hidden_layers": 64, "num_attention_heads": 48, "hidden_size": 6144,
                                 "intermediate_size": 21504, "max_position_embeddings": 131072, "vocab_size": 128256,
                                 "rms_norm_eps": 1e-05, "rope_theta": 1000000})");
  family.scaling = "llama3";
  family.with_llama3_rope = "llama3";
  family.keys.without = {"attention_bias"};
  family.keys.read = {
      {"num_key_value_heads", "8", "heads of keys and values"},
      {"head_dim", "128", "elements of a head"},
      {"sliding_window", "8192", "keys that a token sees in layers with a window"},
      {"layer_types", "null",
       "full_attention or sliding_attention, one for each layer; null: every fourth, from the first, is full"},
      {"rope_parameters", "null",
       "rotary positions, see below; null, and no `rope_scaling`: llama3 by 16 from 8192 positions and base 1000000"}};
  family.keys.fixed.push_back({"pretraining_tp", "1", "projections are computed whole"});
  family.rope_types = {};
  family.read = read_cwm;
  family.writes = [](const OpenConfig& config) { return config.family == "llama3" && config.sizes.window > 0; };
  family.write = [](const OpenConfig& config, nlohmann::ordered_json& json) {
    write_layer_types(config, json);
    if (!json.contains("rope_scaling")) json["rope_scaling"] = {{"rope_type", "default"}};
  };
  return family;
}

}  // namespace sink::open_families
