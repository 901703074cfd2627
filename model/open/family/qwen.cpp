// Qwen 2, and Qwen 3, which norms queries and keys.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_qwen(const ConfigJson& given, OpenConfig& config) {
  const bool used = given.flag("use_sliding_window");
  const ConfigJson json = used ? given : given.with_null("sliding_window");
  const std::int64_t first = json.integer("max_window_layers");
  const bool has_window = json.has("sliding_window");
  take_layer_types(json, config, [&](std::int64_t layer) { return !has_window || layer < first; });
}

void write_qwen(const OpenConfig& config, nlohmann::ordered_json& json) {
  json["use_sliding_window"] = config.sizes.window > 0;
  json["max_window_layers"] = 0;
  write_window(config, json);
  write_layer_types(config, json);
}

}  // namespace

Family qwen2() {
  return {
      .type = "qwen2",
      .keys =
          {.classes = {"Qwen2ForCausalLM", "Qwen2Model"},
           .defaults = R"({"intermediate_size": 22016, "max_position_embeddings": 32768, "vocab_size": 151936})",
           .read = {{"num_key_value_heads", "32"},
                    {"use_sliding_window", "false", "false: no layer has a window"},
                    {"sliding_window", "4096", "keys that a token sees in layers with a window; null: all before it"},
                    {"max_window_layers", "28",
                     "layers before this one see all keys, the others have the window, where `layer_types` is missing"},
                    {"layer_types", "null",
                     "full_attention or sliding_attention, one for each layer; null: made from the keys above"}},
           .fixed = {{"use_mrope", "false", "positions are those of text"}},
           .ignored = {{"of vLLM, for texts of a million tokens; the class does not read it",
                        {"dual_chunk_attention_config"}},
                       {"queries, keys and values have biases whatever it says; the class does not read it",
                        {"attention_bias"}}}},
      .rope_types = {"default", "linear"},
      .read = read_qwen,
      .write = write_qwen,
      .gguf = {.architecture = "qwen2"}};
}

Family qwen3() {
  Family family = qwen2();
  family.type = family.gguf.architecture = "qwen3";
  family.keys.classes = {"Qwen3ForCausalLM", "Qwen3Model"};
  family.keys.read.push_back({"head_dim", "128", "elements of a head"});
  family.keys.fixed = {};
  family.keys.ignored = {};
  return family;
}

}  // namespace sink::open_families
