// The table of the sizes of a model: flags, bounds and meaning, for command lines and checkpoints.
#pragma once

#include <functional>
#include <string>

#include "engine/io/setting.h"
#include "model/sizes.h"

namespace sink {

const Settings<Sizes>& size_settings();

// Returns the option that sets a size, such as "--d-model" for "width".
std::string option_of_size(const std::string& flag);

// Returns equal Sizes for equal models. A 0 that means a default becomes the default; a size without effect becomes 0.
Sizes resolve_defaults(Sizes sizes);
// "3, 7, 11": the blocks with attention, for messages.
std::string layers_with_attention(const Sizes& sizes);

// Returns why these sizes, each within its bounds, make no model together, or an empty string: heads that do not divide
// the width (without a head width), kv_heads that do not divide heads, a prefix not shorter than the context. `spelled`
// maps a flag without dashes to the name that the sentence uses.
std::string validate(const Sizes& sizes, const std::function<std::string(const std::string& flag)>& spelled);

}  // namespace sink
