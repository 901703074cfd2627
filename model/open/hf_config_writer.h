// config.json of Hugging Face for a model of ours: what hf_config.cpp reads, written.
#pragma once

#include <string>

#include "model/open/open_config.h"

namespace sink {

// resolve_defaults() (model/size_settings.h), and 0 for rotations where the family has none.
Sizes sizes_of_family(const std::string& family, const Sizes& sizes);

// Of a config with sizes_of_family(). What the family's class in transformers has no key for is not in it. `tied`:
// whether the unembedding is the embedding; `begin_token`: -1 where texts begin with none.
std::string hf_config_json(const OpenConfig& config, bool tied, std::int64_t begin_token);

}  // namespace sink
