// Command R (`cohere`) and its successors with a window (`cohere2`), which rotate in layers with the window alone:
// attention and feed-forward block read one norm without a bias, and logits have a factor.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// The class overwrites `head_dim`.
void read_cohere2(const ConfigJson& json, OpenConfig& config) {
  config.logit_scale = json.real("logit_scale");
  if (config.sizes.heads > 0) json.expect("head_dim", {config.sizes.width / config.sizes.heads});
  if (!json.has("layer_types")) json.expect_positive({"sliding_window_pattern"});
  take_layer_types(json, config,
                   [&](std::int64_t layer) { return (layer + 1) % json.integer("sliding_window_pattern") == 0; });
  rotate_layers_with_window(config.sizes);
}

TensorNames cohere_names(const char* norm, std::vector<std::string> tables) {
  TensorNames names{.tables = std::move(tables), .pairs_interleaved = true};
  leave_out_of_norms(".bias", names);
  names.own.push_back({"blocks.#.feed_forward.norm", {norm}});
  return names;
}

void read_cohere_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
  config.logit_scale = keys.real("logit_scale");
  if (config.origin->gguf.window && keys.integer("attention.sliding_window") < 1)
    keys.refuse("`cohere2.attention.sliding_window` must be at least 1");
}

}  // namespace

Family cohere() {
  return {.layer_norm = true,
          .type = "cohere",
          .keys = {.without = {"rms_norm_eps", "head_dim"},
                   .classes = {"CohereForCausalLM", "CohereModel"},
                   .defaults = R"({"num_hidden_layers": 40, "num_attention_heads": 64, "hidden_size": 8192,
                                   "intermediate_size": 22528, "max_position_embeddings": 8192, "vocab_size": 256000,
                                   "tie_word_embeddings": true, "rope_theta": 500000})",
                   .read = {{"layer_norm_eps", "1e-05", "of norms", "norm-epsilon"},
                            {"logit_scale", "0.0625", "factor of logits"}},
                   .fixed = {{"use_qk_norm", "false, null", "norms of queries and keys"}},
                   .ignored = {{"the class does not read it", {"pretraining_tp"}}}},
          .rope_types = {"default", "linear"},
          .names = cohere_names("layers.#.input_layernorm", {"LLaMA"}),
          .read = [](const ConfigJson& json, OpenConfig& config) { config.logit_scale = json.real("logit_scale"); },
          .write = [](const OpenConfig&, nlohmann::ordered_json& json) { json["logit_scale"] = 1.0; },
          .gguf = {.architecture = "command-r",
                   .keys = {"logit_scale"},
                   .names = cohere_names("blk.#.attn_norm", {"GGUF"}),
                   .read = read_cohere_gguf}};
}

Family cohere2() {
  Family family = cohere();
  family.type = family.gguf.architecture = "cohere2";
  FamilyKeys& keys = family.keys;
  keys.classes = {"Cohere2ForCausalLM", "Cohere2Model"};
  keys.read.push_back({"rope_theta", "10000"});
  keys.read.push_back({"head_dim", "", "the class does not read it; must be hidden_size / num_attention_heads"});
  keys.read.push_back({"sliding_window", "4096", "keys that a token sees in layers with a window"});
  keys.read.push_back(
      {"sliding_window_pattern", "4", "every n-th layer has no window, where `layer_types` is missing"});
  keys.read.push_back({"layer_types", "null",
                       "full_attention or sliding_attention, one for each layer; null: made from the keys above"});
  keys.defaults.erase(keys.defaults.find(R"(, "rope_theta")")).push_back('}');
  keys.fixed = {};
  keys.ignored = {{"the class does not read it",
                   {"pretraining_tp", "use_qk_norm", "rotary_pct", "layer_switch", "order_of_interleaved_layers",
                    "position_embedding_type", "use_embedding_sharing", "use_gated_activation", "use_parallel_block",
                    "use_parallel_embedding"}}};
  family.read = read_cohere2;
  family.writes = [](const OpenConfig& config) {
    return config.sizes.window > 0 || !config.sizes.rotates(config.sizes.layers - 1);
  };
  family.write = [](const OpenConfig& config, nlohmann::ordered_json& json) {
    json["logit_scale"] = 1.0;
    write_layer_types(config, json);
  };
  family.gguf.window = family.gguf.rotates_with_window = true;
  family.gguf.global_every = 4;
  return family;
}

}  // namespace sink::open_families
