#include "model/open/hf_rope.h"

#include <algorithm>
#include <cmath>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "model/open/family/family_parts.h"
#include "model/open/hf_config_keys.h"

namespace sink {

bool has_object(const ConfigJson& json, const char* key) { return json.has(key) && !json.object(key).keys().empty(); }

ConfigJson rope_object(const ConfigJson& json) {
  const bool older = has_object(json, "rope_scaling"), newer = has_object(json, "rope_parameters");
  if (older && newer && !(json.object("rope_scaling") == json.object("rope_parameters")))
    json.refuse("`rope_parameters` and `rope_scaling` are not the same; expected one of them");
  return json.object(older ? "rope_scaling" : "rope_parameters");
}

namespace {

std::vector<double> divisors(const ConfigJson& keys, const char* key) {
  const std::vector<double> read = keys.reals(key);
  if (read.empty()) keys.refuse("`" + std::string(key) + "` must have a number for each pair that rotates, got none");
  for (double x : read)
    if (!(x > 0)) keys.refuse("`" + std::string(key) + "` must have values above 0, got " + str_format("%g", x));
  return read;
}

// The class reads the first context from config.json itself.
void take_longrope(const ConfigJson& keys, const Rope& otherwise, Rope& rope) {
  rope.first_context = otherwise.first_context;
  keys.expect("original_max_position_embeddings", {rope.first_context});
  const double factor = keys.real("factor", otherwise.factor), first = static_cast<double>(rope.first_context);
  const double length = factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(first)) : 1;
  rope.long_rope = {divisors(keys, "short_factor"), divisors(keys, "long_factor"),
                    keys.real("attention_factor", length)};
}

}  // namespace

Rope rope_of(const ConfigJson& rope, const Rope& otherwise, const std::vector<std::string>& types) {
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (std::ranges::find(types, type) == types.end()) {
    const std::string are = types.size() > 1 ? " are" : " is";
    rope.refuse("rotary positions of type " + in_quotes(type) + " are not computed here; " + listed(types) + are);
  }
  const ConfigJson keys = known_keys(rope, "rotary positions of type `" + type + "`");
  if (rope.has("rope_type")) keys.expect("type", {type});
  Rope read{type, keys.real("rope_theta", otherwise.base), 0, 0, keys.real("partial_rotary_factor", otherwise.part)};
  if (type == "default") return read;
  if (type == "longrope") {
    take_longrope(keys, otherwise, read);
    return read;
  }
  read.factor = keys.real("factor");
  if (!(read.factor >= 1)) rope.refuse("`factor` must be at least 1, got " + std::to_string(read.factor));
  if (type != "linear") read.first_context = keys.integer("original_max_position_embeddings", otherwise.first_context);
  return read;
}

void take_rope(const Rope& rope, OpenConfig& config) {
  config.sizes.rotary_base = rope.base;
  config.sizes.rotary_factor = rope.factor;
  config.sizes.rotary_context = rope.first_context;
  config.sizes.long_rope = rope.long_rope;
}

void take_rotary_part(const ConfigJson& json, const Rope& rope, Sizes& sizes) {
  if (sizes.heads < 1) json.refuse("`num_attention_heads` must be at least 1");
  const auto head = static_cast<double>(sizes.width_of_head());
  sizes.rotary_part = std::floor(rope.part * head) / head;
  if (sizes.rotary_part == 0)
    json.refuse("`partial_rotary_factor` (of GPT-NeoX: `rotary_pct`) must be at least 1 / " + str_format("%g", head) +
                ", one of the elements of a head, got " + str_format("%g", rope.part));
}

void read_rope_of_part(const ConfigJson& json, OpenConfig& config) {
  const Rope rope = rope_of(rope_object(json), {"", json.real("rope_theta"), 0, 0, json.real("partial_rotary_factor")},
                            {"default", "linear"});
  take_rope(rope, config);
  take_rotary_part(json, rope, config.sizes);
}

void require_whole_heads(const ConfigJson& json, const Rope& rope) {
  if (rope.part != 1) json.refuse("`partial_rotary_factor` must be 1, got " + std::to_string(rope.part));
}

Rope whole_rope(const ConfigJson& json, const std::vector<std::string>& types) {
  const Rope rope =
      rope_of(rope_object(json), {"", json.real("rope_theta"), 0, json.integer("max_position_embeddings"), 1}, types);
  require_whole_heads(json, rope);
  return rope;
}

}  // namespace sink
