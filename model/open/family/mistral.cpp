// Mistral: LLaMA with a window in all layers.
#include "engine/io/printable.h"
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// The class ignores layer types.
void read_mistral(const ConfigJson& json, OpenConfig& config) {
  const bool has_window = json.has("sliding_window");
  if (json.has("layer_types")) {
    const std::vector<std::string> types = json.texts("layer_types");
    require_type_of_each(json, types, config.sizes.layers);
    for (const std::string& type : types)
      if (type != (has_window ? "sliding_attention" : "full_attention"))
        json.refuse("`layer_types` has " + in_quotes(type) + ", which Mistral's class does not read: all layers have " +
                    (has_window ? "the window" : "no window"));
  }
  take_window(json, config);
}

}  // namespace

Family mistral() {
  return {.type = "mistral",
          .keys = {.classes = {"MistralForCausalLM", "MistralModel"},
                   .defaults = R"({"intermediate_size": 14336, "max_position_embeddings": 131072})",
                   .read = {{"num_key_value_heads", "8", "heads of keys and values"},
                            {"sliding_window", "4096", "keys that a token sees in every layer; null: all before it"},
                            {"layer_types", "null",
                             "the class does not read it; must say of every layer what `sliding_window` says"}}},
          .rope_types = {"default", "linear"},
          .read = read_mistral,
          .writes = [](const OpenConfig& config) { return config.sizes.window > 0; },
          .write = write_window,
          .tokenizer_class = "LlamaTokenizer"};
}

}  // namespace sink::open_families
