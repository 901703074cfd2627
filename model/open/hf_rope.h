// Rotary positions in config.json of Hugging Face.
#pragma once

#include <string>
#include <vector>

#include "model/open/config_json.h"
#include "model/open/open_config.h"

namespace sink {

// From `rope_parameters`, or `rope_theta` and `rope_scaling` of older files.
struct Rope {
  std::string type;
  double base, factor;  // factor 0: the type has none
  std::int64_t first_context;
  double part;  // fraction of a head that rotates
  LongRope long_rope = {};
};

// Whether the key is there and is no empty object.
bool has_object(const ConfigJson& json, const char* key);
// `rope_parameters` or `rope_scaling`, whichever exists; an empty object if neither does. Refuses two that differ.
ConfigJson rope_object(const ConfigJson& json);
// `otherwise`: base, part and first context for missing keys; of longrope also the factor. Refuses types that are not
// in `types`.
Rope rope_of(const ConfigJson& rope, const Rope& otherwise, const std::vector<std::string>& types);
// Of config.json, of families in which all elements of a head rotate.
Rope whole_rope(const ConfigJson& json, const std::vector<std::string>& types);

void take_rope(const Rope& rope, OpenConfig& config);
// The part of a head that rotates, rounded down to whole elements.
void take_rotary_part(const ConfigJson& json, const Rope& rope, Sizes& sizes);
void require_whole_heads(const ConfigJson& json, const Rope& rope);

}  // namespace sink
