#include "model/open/hf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "model/open/family/family_parts.h"
#include "model/open/hf_config_keys.h"
#include "model/position/scaled_inv_freq.h"

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

// As transformers, which reads `mscale` only with `mscale_all_dim`.
void take_yarn(const ConfigJson& keys, const Rope& otherwise, Rope& rope) {
  const double factor = keys.real("factor");
  if (!(factor >= 1)) keys.refuse("`factor` must be at least 1, got " + str_format("%g", factor));
  const YarnRange range{keys.real("beta_slow", 1), keys.real("beta_fast", 32)};
  if (!(range.slow > 0 && range.slow < range.fast))
    keys.refuse("`beta_slow` must be above 0 and below `beta_fast`, got " + str_format("%g", range.slow) + " and " +
                str_format("%g", range.fast));
  rope.long_rope =
      yarn_divisors(rope.base, factor, keys.integer("original_max_position_embeddings", otherwise.first_context),
                    otherwise.yarn_width, range);
  double& length = rope.long_rope.length;
  const double m = keys.real("mscale", 0), n = keys.real("mscale_all_dim", 0), growth = length - 1;
  length = keys.real("attention_factor", m != 0 && n != 0 ? (m * growth + 1) / (n * growth + 1) : length);
}

}  // namespace

LongRope yarn_divisors(double base, double factor, std::int64_t first_context, std::int64_t width,
                       const YarnRange& range) {
  const auto D = static_cast<double>(width);
  // The real index e of the pair with this many turns: first_context base^(-2e/D) / (2 pi) = turns.
  auto pair_of = [&](double turns) {
    return D * std::log(static_cast<double>(first_context) / (2 * std::numbers::pi * turns)) / (2 * std::log(base));
  };
  const double first = std::max(std::floor(pair_of(range.fast)), 0.0);
  const double last = std::min(std::ceil(pair_of(range.slow)), D - 1);
  LongRope rope{{}, {}, yarn_length(factor)};
  for (std::int64_t e = 0; e < width / 2; ++e) {
    const double step = last == first ? 0.001 : last - first;
    const double slowed = std::clamp((static_cast<double>(e) - first) / step, 0.0, 1.0);
    rope.short_E.push_back(1 / (1 - slowed + slowed / factor));
  }
  return rope;
}

std::int64_t yarn_width(const Sizes& sizes) { return sizes.heads > 0 ? sizes.width_of_head() : 0; }

Rope rope_of(const ConfigJson& rope, const Rope& otherwise, const std::vector<std::string>& types) {
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (std::ranges::find(types, type) == types.end()) {
    const std::string are = types.size() > 1 ? " are" : " is";
    rope.refuse("rotary positions of type " + in_quotes(type) + " are not computed here; " + listed(types) + are);
  }
  const bool by_divisors = type == "yarn" && otherwise.yarn_width > 0;
  const ConfigJson keys =
      known_keys(rope, "rotary positions of type `" + type + "`" + (by_divisors ? " with a rounded range" : ""));
  if (rope.has("rope_type")) keys.expect("type", {type});
  Rope read{type, keys.real("rope_theta", otherwise.base), 0, 0, keys.real("partial_rotary_factor", otherwise.part)};
  if (type == "default" || type == "dynamic") return read;
  if (by_divisors) {
    take_yarn(keys, otherwise, read);
    return read;
  }
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
  if (rope.type == "dynamic") config.beyond_context = "rotates by another base beyond it";
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

Rope whole_rope(const ConfigJson& json, const std::vector<std::string>& types, std::int64_t yarn_width) {
  const Rope rope =
      rope_of(rope_object(json),
              {"", json.real("rope_theta"), 0, json.integer("max_position_embeddings"), 1, {}, yarn_width}, types);
  require_whole_heads(json, rope);
  return rope;
}

void take_ropes_by_layer(const ConfigJson& json, double full_base, double window_base,
                         const std::vector<std::string>& types, OpenConfig& config) {
  const ConfigJson ropes = known_keys(json.object("rope_parameters"), "`rope_parameters` by the type of a layer");
  const bool older = has_object(json, "rope_scaling");
  if (older && has_object(json, "rope_parameters"))
    json.refuse("`rope_parameters` and `rope_scaling` are both there; expected one of them");
  if (older && !json.object("rope_scaling").has("rope_type"))
    json.refuse(
        "`rope_scaling` without `rope_type` is of one type in transformers 4 (`type`) and of another in 5 (default); "
        "expected `rope_type`");
  const ConfigJson of_full = older ? json.object("rope_scaling") : ropes.object("full_attention");
  const ConfigJson of_window = ropes.object("sliding_attention");
  Sizes& sizes = config.sizes;
  const std::int64_t first_context = json.integer("max_position_embeddings");
  const Rope full = rope_of(of_full, {"", full_base, 0, first_context, 1, {}, yarn_width(sizes)}, types);
  const Rope window = rope_of(of_window, {"", window_base, 0, 0, 1}, {"default", "linear"});
  require_whole_heads(of_full, full);
  require_whole_heads(of_window, window);
  if (window.factor > 1)
    of_window.refuse("rotary positions of layers with a window are not slowed down here; expected type default, got " +
                     window.type + " by " + std::to_string(window.factor));
  take_rope(full, config);
  sizes.rotary_local_base = sizes.window > 0 ? window.base : 0;
}

}  // namespace sink
