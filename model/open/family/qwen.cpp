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
  write_window(config, json);
  write_layer_types(config, json);
}

}  // namespace

Family qwen2() {
  return {.type = "qwen2",
          .rope_types = {"default", "linear"},
          .read = read_qwen,
          .written = R"({"hidden_act": "silu", "attention_bias": false, "max_window_layers": 0})",
          .write = write_qwen,
          .gguf = {.architecture = "qwen2"}};
}

Family qwen3() {
  Family family = qwen2();
  family.type = family.gguf.architecture = "qwen3";
  return family;
}

}  // namespace sink::open_families
