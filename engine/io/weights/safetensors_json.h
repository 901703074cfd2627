// The JSON of safetensors: the header of a file, and the index of several files (shards).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/shape.h"
#include "engine/stored/stored_type.h"

namespace sink {

struct SafetensorsEntry {
  std::string name;
  StoredType type = StoredType::F32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // from the end of the header
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
};

inline constexpr std::uint64_t kLongestSafetensorsHeader = 100'000'000;  // by the format

// {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {key: text, ...}}. The bytes
// of an entry must be those of its shape; offsets are not checked otherwise. Throws WeightFailure.
SafetensorsHeader parse_safetensors_header(std::string_view json);

struct ShardIndex {
  std::vector<std::pair<std::string, std::string>> files;     // (tensor, file), sorted by the unique tensor names
  std::vector<std::pair<std::string, std::string>> metadata;  // values that are no text are JSON
};

// {"metadata": {...}, "weight_map": {tensor: file, ...}}; other keys are ignored. A file is a plain name: no
// separators, not hidden. Throws WeightFailure.
ShardIndex parse_shard_index(std::string_view json);

}  // namespace sink
