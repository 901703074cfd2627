// What several families read of their files, and write to config.json.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/io/weights/weight_file.h"
#include "model/open/config_json.h"
#include "model/open/gguf_keys.h"
#include "model/open/hf_rope.h"
#include "model/open/open_config.h"

namespace sink {

// config.json: sets window and the layers without it from `layer_types`, or if it is missing from is_full(layer).
void take_layer_types(const ConfigJson& json, OpenConfig& config, const std::function<bool(std::int64_t)>& is_full);
void require_type_of_each(const ConfigJson& json, const std::vector<std::string>& types, std::int64_t layers);
// Layers without the window do not rotate.
void rotate_layers_with_window(Sizes& sizes);
// All layers have the window, if there is one.
void take_window(const ConfigJson& json, OpenConfig& config);

// The base, the factor and the part of a head of rotary positions, of type default or linear.
void read_rope_of_part(const ConfigJson& json, OpenConfig& config);

// Files have no gain (".gain") or no bias (".bias") of the norms before sublayers and at the end.
void leave_out_of_norms(const char* parameter, TensorNames& names);

// Experts as most families call them, a tensor for each.
extern const TensorNames kExpertsApart;

// GGUF: divisors of the frequencies of `width` elements of a head.
std::vector<double> divisors_in(const GgufKeys& keys, const StoredTensor& divisors_E, std::int64_t width);
inline constexpr const char* kLongRopeFactors = "rope_factors_long.weight";

// The window, or null; the layers without it, and the window where it is not written and cannot be null.
void write_window(const OpenConfig& config, nlohmann::ordered_json& json);
void write_layer_types(const OpenConfig& config, nlohmann::ordered_json& json);

}  // namespace sink
