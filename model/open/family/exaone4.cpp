// EXAONE 4: OLMo 2 with norms of queries and keys by the head, the rotary positions of LLaMA 3, and where there is a
// window, no rotary positions in the layers without it.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_exaone4(const ConfigJson& json, OpenConfig& config) {
  if (!json.has("layer_types")) {
    if (!json.has("sliding_window"))
      json.refuse("`sliding_window` is null without `layer_types`, which transformers does not compute; expected both");
    json.expect_positive({"sliding_window_pattern"});
  }
  take_layer_types(json, config,
                   [&](std::int64_t layer) { return (layer + 1) % json.integer("sliding_window_pattern") == 0; });
  if (json.has("sliding_window")) rotate_layers_with_window(config.sizes);
}

void write_exaone4(const OpenConfig& config, nlohmann::ordered_json& json) {
  if (config.sizes.rotates(0)) write_window(config, json);
  write_layer_types(config, json);
}

}  // namespace

Family exaone4() {
  return {
      .scaling = "llama3",
      .with_llama3_rope = "exaone4",
      .type = "exaone4",
      .keys = {.without = {"attention_bias"},
               .classes = {"Exaone4ForCausalLM", "Exaone4Model"},
               .defaults = R"({"intermediate_size": 16384, "vocab_size": 102400, "rms_norm_eps": 1e-05})",
               .read = {{"num_key_value_heads", "32", "heads of keys and values"},
                        {"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"},
                        {"sliding_window", "4096",
                         "keys that a token sees in layers with a window; null: none has one, and all rotate"},
                        {"sliding_window_pattern", "4",
                         "every n-th layer has no window, where `layer_types` is missing; null: it is there"},
                        {"layer_types", "null",
                         "full_attention or sliding_attention, one for each layer; null: made from the keys above"}}},
      .rope_types = {"default", "llama3"},
      .names = {.tables = {"LLaMA with norms after sublayers", "LLaMA"}},
      .read = read_exaone4,
      .write = write_exaone4,
      .gguf = {.architecture = "exaone4", .window = true, .global_every = 4, .rotates_with_window = true}};
}

}  // namespace sink::open_families
