// gpt-oss: a learned sink, a mixture of experts, YaRN, and a window in every second layer.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_gpt_oss(const ConfigJson& json, OpenConfig& config) {
  json.expect("experts_per_token", {config.sizes.chosen_experts});
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 2 == 1; });
  const bool by_default = !json.has("rope_parameters") && !has_object(json, "rope_scaling");
  take_rope(by_default ? Rope{"yarn", json.real("rope_theta"), 32, 4096, 1} : whole_rope(json, {"default", "yarn"}),
            config);
}

// llama.cpp requires the window, too. GGUF has no key for the layers of older files, nor for the range of pairs of
// YaRN, which is not rounded, as in the published config.json.
void read_gpt_oss_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig&) {
  if (keys.integer("attention.sliding_window") < 1)
    keys.refuse("`gpt-oss.attention.sliding_window` must be at least 1, got " +
                std::to_string(keys.integer("attention.sliding_window")));
}

void write_gpt_oss(const OpenConfig& config, nlohmann::ordered_json& json) {
  write_layer_types(config, json);
  if (config.sizes.rotary_factor == 1) json["rope_scaling"] = {{"rope_type", "default"}};
}

}  // namespace

Family gpt_oss() {
  return {
      .scaling = "yarn",
      .experts = true,
      .type = "gpt_oss",
      .names = {.tables = {"gpt-oss", "LLaMA"}, .experts = ExpertTensors::transposed},
      .read = read_gpt_oss,
      .written = R"({"hidden_act": "silu", "attention_bias": true, "swiglu_limit": 7.0, "swiglu_alpha": 1.702})",
      .write = write_gpt_oss,
      .gguf = {.architecture = "gpt-oss",
               .names = {.tables = {"GGUF of gpt-oss", "GGUF of experts", "GGUF"}, .experts = ExpertTensors::stacked},
               .window = true,
               .global_every = 2,
               .read = read_gpt_oss_gguf}};
}

}  // namespace sink::open_families
