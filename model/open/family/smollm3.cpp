// SmolLM3: LLaMA with layers that do not rotate. Without `layer_types` those have the window, if there is one.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// From `no_rope_layers`, 0 for layers without rotary positions, or from `no_rope_layer_interval`.
void take_no_rope_layers(const ConfigJson& json, Sizes& sizes) {
  if (!json.has("no_rope_layers")) {
    json.expect_positive({"no_rope_layer_interval"});
    sizes.no_rope_every = json.integer("no_rope_layer_interval");
    return;
  }
  const std::vector<std::int64_t> rotates = json.integers("no_rope_layers");
  if (std::ssize(rotates) != sizes.layers)
    json.refuse("`no_rope_layers` must have 0 or 1 for each of " + std::to_string(sizes.layers) + " layers, got " +
                std::to_string(rotates.size()));
  for (std::int64_t one : rotates)
    if (one != 0 && one != 1) json.refuse("`no_rope_layers` must be 0 or 1, got " + std::to_string(one));
  set_rotary_layers(sizes, {rotates.begin(), rotates.end()});
}

void read_smollm3(const ConfigJson& json, OpenConfig& config) {
  take_no_rope_layers(json, config.sizes);
  const bool has_window = json.flag("use_sliding_window") && json.has("sliding_window");
  take_layer_types(json, config, [&](std::int64_t layer) { return !has_window || config.sizes.rotates(layer); });
}

void write_smollm3(const OpenConfig& config, nlohmann::ordered_json& json) {
  const Sizes& sizes = config.sizes;
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer)
    json["no_rope_layers"].push_back(sizes.rotates(layer) ? 1 : 0);
  if (sizes.no_rope_every == 0) json.erase("no_rope_layer_interval");
  json["use_sliding_window"] = sizes.window > 0;
  write_window(config, json);
  write_layer_types(config, json);
}

}  // namespace

Family smollm3() {
  return {
      .with_llama3_rope = "llama3",
      .type = "smollm3",
      .keys = {.classes = {"SmolLM3ForCausalLM", "SmolLM3Model"},
               .defaults = R"({"num_hidden_layers": 36, "num_attention_heads": 16, "hidden_size": 2048,
                               "max_position_embeddings": 32768, "vocab_size": 128256, "tie_word_embeddings": true,
                               "rope_theta": 2000000})",
               .read = {{"num_key_value_heads", "4"},
                        {"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"},
                        {"no_rope_layers", "null",
                         "0 for layers without rotary positions and 1 for the others, one for each layer; null: made "
                         "from the key below"},
                        {"no_rope_layer_interval", "4",
                         "every n-th layer has no rotary positions, where `no_rope_layers` is missing"},
                        {"sliding_window", "null", "keys that a token sees in layers with a window"},
                        {"use_sliding_window", "false",
                         "whether layers without rotary positions have a window, where `layer_types` is missing"},
                        {"layer_types", "null",
                         "full_attention or sliding_attention, one for each layer; null: made from the keys above"}},
               .fixed = {{"mlp_bias", "false", "biases of the feed-forward block"}},
               .ignored = {{"the class does not read it", {"pretraining_tp", "max_window_layers"}}}},
      .rope_types = {"default", "linear", "llama3"},
      .read = read_smollm3,
      .writes =
          [](const OpenConfig& config) {
            return config.sizes.no_rope_every > 0 || !config.sizes.rotary_layers.empty();
          },
      .write = write_smollm3,
      .gguf = {.architecture = "smollm3",
               .names = {.tables = {"GGUF"}, .pairs_interleaved = true},
               // GGUF has no key for it.
               .read = [](const GgufKeys&, const WeightFile&, OpenConfig& config) { config.sizes.no_rope_every = 4; }}};
}

}  // namespace sink::open_families
