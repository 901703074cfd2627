#include "model/open/hf_rope.h"

#include <algorithm>
#include <cmath>

#include "model/open/hf_config_keys.h"

namespace sink {

bool has_object(const ConfigJson& json, const char* key) { return json.has(key) && !json.object(key).keys().empty(); }

ConfigJson rope_object(const ConfigJson& json) {
  const bool older = has_object(json, "rope_scaling"), newer = has_object(json, "rope_parameters");
  if (older && newer && !(json.object("rope_scaling") == json.object("rope_parameters")))
    json.refuse("`rope_parameters` and `rope_scaling` are not the same; expected one of them");
  return json.object(older ? "rope_scaling" : "rope_parameters");
}

Rope rope_of(const ConfigJson& rope, const Rope& otherwise, std::initializer_list<std::string> types) {
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (std::ranges::find(types, type) == types.end()) {
    const std::string are = types.size() > 1 ? " are" : " is";
    rope.refuse("rotary positions of type `" + type + "` are not computed here; " + listed(types) + are);
  }
  const ConfigJson keys = known_keys(rope, "rotary positions of type `" + type + "`");
  if (rope.has("rope_type")) keys.expect("type", {type});
  Rope read{type, keys.real("rope_theta", otherwise.base), 0, 0, keys.real("partial_rotary_factor", otherwise.part)};
  if (type == "default") return read;
  read.factor = keys.real("factor");
  if (!(read.factor >= 1)) rope.refuse("`factor` must be at least 1, got " + std::to_string(read.factor));
  if (type != "linear") read.first_context = keys.integer("original_max_position_embeddings", otherwise.first_context);
  return read;
}

void take_rope(const Rope& rope, OpenConfig& config) {
  config.sizes.rotary_base = rope.base;
  config.sizes.rotary_factor = rope.factor;
  config.sizes.rotary_context = rope.first_context;
}

void take_rotary_part(const ConfigJson& json, const Rope& rope, Sizes& sizes) {
  if (sizes.heads < 1) json.refuse("`num_attention_heads` must be at least 1");
  const auto head = static_cast<double>(sizes.width_of_head());
  sizes.rotary_part = std::floor(rope.part * head) / head;
}

void require_whole_heads(const ConfigJson& json, const Rope& rope) {
  if (rope.part != 1) json.refuse("`partial_rotary_factor` must be 1, got " + std::to_string(rope.part));
}

}  // namespace sink
