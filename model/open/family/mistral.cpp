// Mistral: LLaMA with a window in all layers; and Ministral, which has it in some, or YaRN.
#include <algorithm>

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

// Queries of positions after the first context are scaled, which is not computed: the context ends there.
void read_ministral3(const ConfigJson& json, OpenConfig& config) {
  take_window(json, config);
  const bool by_default = !json.has("rope_parameters") && !has_object(json, "rope_scaling");
  const ConfigJson rope = by_default ? json.object("rope_parameters")
                                           .completed({{"rope_type", "yarn"},
                                                       {"rope_theta", 1e6},
                                                       {"factor", 16},
                                                       {"original_max_position_embeddings", 16384},
                                                       {"mscale", 1},
                                                       {"mscale_all_dim", 1},
                                                       {"llama_4_scaling_beta", 0.1}})
                                     : rope_object(json);
  if (!rope.has("llama_4_scaling_beta"))
    json.refuse("`llama_4_scaling_beta` is missing, without which transformers does not compute; expected a number");
  const std::int64_t most = json.integer("max_position_embeddings");
  const Rope read = rope_of(rope, {"", json.real("rope_theta"), 0, most, 1, {}, yarn_width(config.sizes)}, {"yarn"});
  require_whole_heads(rope, read);
  take_rope(read, config);
  config.sizes.context = std::min(config.sizes.context, rope.integer("original_max_position_embeddings", most));
  config.beyond_context = "scales queries beyond it";
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

// Ministral 8B of 2024: a window in layers of a list.
Family ministral() {
  Family family = mistral();
  family.type = "ministral";
  family.keys.classes = {"MinistralForCausalLM", "MinistralModel"};
  family.keys.read.push_back(
      {"head_dim", "null", "elements of a head; null is refused, as the class does not compute it"});
  family.keys.read[2] = {"layer_types", "null",
                         "full_attention or sliding_attention, one for each layer; null: all have the window"};
  family.keys.read[1].note = "keys that a token sees in layers with a window";
  family.read = [](const ConfigJson& json, OpenConfig& config) {
    if (!json.has("head_dim"))
      json.refuse("`head_dim` is null or missing, without which the class does not compute; expected a number");
    take_layer_types(json, config, [](std::int64_t) { return false; });
  };
  family.writes = [](const OpenConfig& config) {
    const Sizes& sizes = config.sizes;
    return sizes.window > 0 && (sizes.global_every > 0 || !sizes.global_layers.empty());
  };
  family.write = write_layer_types;
  return family;
}

// Ministral 3 of 2025: YaRN, of which only the first context is computed.
Family ministral3() {
  Family family = mistral();
  family.scaling = kLinearOrYarn;
  family.type = "ministral3";
  family.keys.classes = {"Ministral3ForCausalLM", "Ministral3Model"};
  family.keys.defaults = R"({"num_hidden_layers": 34, "intermediate_size": 14336, "max_position_embeddings": 262144,
                             "vocab_size": 131072, "rms_norm_eps": 1e-05})";
  family.keys.read = {
      {"num_key_value_heads", "8", "heads of keys and values"},
      {"head_dim", "128", "elements of a head"},
      {"sliding_window", "null", "keys that a token sees in every layer; null: all before it"},
      {"rope_parameters", "null",
       "rotary positions, see below; null, and no `rope_scaling`: yarn by 16 from 16384 positions and base 1000000"}};
  family.rope_types = {};
  family.read = read_ministral3;
  family.writes = [](const OpenConfig&) { return false; };
  return family;
}

}  // namespace sink::open_families
