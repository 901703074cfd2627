// The table of a model's sizes: their flags, bounds and meaning. Command lines, checkpoints and what is checked of both
// come from it.
#pragma once

#include <functional>
#include <string>

#include "engine/io/setting.h"
#include "model/sizes.h"

namespace sink {

const Settings<Sizes>& size_settings();

// Returns equal Sizes for equal models: a 0 that stands for a default becomes that default, and a size without effect
// becomes 0.
Sizes resolve_defaults(Sizes sizes);

// Returns why these sizes, each within its bounds, make no model together, or an empty string: heads that do not divide
// the width (without a head width), kv_heads that do not divide heads, a prefix not shorter than the context. `spelled`
// maps a flag without dashes to the name that the sentence uses.
std::string validate(const Sizes& sizes, const std::function<std::string(const std::string& flag)>& spelled);

}  // namespace sink
