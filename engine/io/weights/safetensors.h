// safetensors: files with a JSON header and numbers behind it, as Hugging Face has them; one, or several with an index.
#pragma once

#include <string>

#include "engine/io/weights/weight_file.h"

namespace sink {

// On disk: u64 bytes of the header, the header (see safetensors_header.h), the numbers, which the tensors' offsets
// cover without a gap, an overlap or a rest. The texts of `__metadata__` become metadata. Throws Error as read_weights.
WeightFile read_safetensors(const std::string& path);

// The shards that `path`, a model.safetensors.index.json, names in its folder, as if they were one file. Every tensor
// of the index is in its shard, and the shards have no others. Throws Error: Exit::bad_input where a file is missing.
WeightFile read_sharded_safetensors(const std::string& path);

}  // namespace sink
