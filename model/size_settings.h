// The table of a model's sizes: their flags, bounds and meaning. Command lines, checkpoints and what is checked of both
// come from it.
#pragma once

#include <functional>
#include <string>

#include "engine/io/setting.h"
#include "model/sizes.h"

namespace sink {

const Settings<Sizes>& size_settings();

// Sizes that mean the same made equal: where 0 stands for a number that other sizes or every policy give, that number;
// 0 where a number has no effect.
Sizes spelled_out(Sizes sizes);

// Why sizes, each within its bounds, do not make a model together: heads that do not divide the width
// (where no head width is given), kv_heads that do
// not divide heads, a prefix not shorter than the context. Empty where they do. `spelled` says how a size is named in
// the sentence, by its flag without dashes.
std::string misfit_of(const Sizes& sizes, const std::function<std::string(const std::string& flag)>& spelled);

}  // namespace sink
