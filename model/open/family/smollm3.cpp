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
      .rope_types = {"default", "linear", "llama3"},
      .read = read_smollm3,
      .writes =
          [](const OpenConfig& config) {
            return config.sizes.no_rope_every > 0 || !config.sizes.rotary_layers.empty();
          },
      .written = R"({"hidden_act": "silu", "attention_bias": false, "mlp_bias": false})",
      .write = write_smollm3,
      .gguf = {.architecture = "smollm3",
               .names = {.tables = {"GGUF"}, .pairs_interleaved = true},
               // GGUF has no key for it.
               .read = [](const GgufKeys&, const WeightFile&, OpenConfig& config) { config.sizes.no_rope_every = 4; }}};
}

}  // namespace sink::open_families
