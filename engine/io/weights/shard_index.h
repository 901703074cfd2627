// model.safetensors.index.json: which of several files of a folder has which tensor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sink {

struct ShardIndex {
  std::vector<std::pair<std::string, std::string>> files;     // of a tensor's name, sorted by names, each once
  std::vector<std::pair<std::string, std::string>> metadata;  // what is a text or a number, as it stands
};

// {"metadata": {...}, "weight_map": {tensor: file, ...}}; what else there is, is passed over. A file is a plain name:
// no separators, not hidden. Throws WeightFailure.
ShardIndex parse_shard_index(std::string_view json);

}  // namespace sink
