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
  std::int64_t yarn_width = 0;  // D, where YaRN is computed by divisors of frequencies; 0: by its policy
};

// Whether the key is there and is no empty object.
bool has_object(const ConfigJson& json, const char* key);
// `rope_parameters` or `rope_scaling`, whichever exists; an empty object if neither does. Refuses two that differ.
ConfigJson rope_object(const ConfigJson& json);
// `otherwise`: base, part, first context and yarn_width for missing keys; of longrope also the factor. Refuses types
// that are not in `types`.
Rope rope_of(const ConfigJson& rope, const Rope& otherwise, const std::vector<std::string>& types);
// Of config.json, of families in which all elements of a head rotate.
Rope whole_rope(const ConfigJson& json, const std::vector<std::string>& types, std::int64_t yarn_width = 0);
// YaRN (Peng et al. 2023) whose range of pairs is rounded to whole ones, as transformers and llama.cpp have it: the
// divisors of the frequencies of a head of `width` elements for texts of any length. Turns within the first context:
// pairs with at least `fast` are not divided, pairs with at most `slow` are divided by `factor`.
struct YarnRange {
  double slow = 1, fast = 32;
};
inline constexpr const char* kLinearOrYarn = "linear or yarn";  // the `scaling` of families that it is computed for
std::int64_t yarn_width(const Sizes& sizes);                    // 0 without heads, which are refused
LongRope yarn_divisors(double base, double factor, std::int64_t first_context, std::int64_t width,
                       const YarnRange& range = {});
// Of families whose layers with a window have rotary positions of their own, of type default. The bases are those of
// files that have none, `types` those of the other layers.
void take_ropes_by_layer(const ConfigJson& json, double full_base, double window_base,
                         const std::vector<std::string>& types, OpenConfig& config);

void take_rope(const Rope& rope, OpenConfig& config);
// The part of a head that rotates, rounded down to whole elements.
void take_rotary_part(const ConfigJson& json, const Rope& rope, Sizes& sizes);
void require_whole_heads(const ConfigJson& json, const Rope& rope);

}  // namespace sink
