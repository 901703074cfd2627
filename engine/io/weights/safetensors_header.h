// The JSON that a safetensors file begins with, as events come out of a parser: nothing is built of what does not
// belong there, however much it is.
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

// {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {key: text, ...}}. Bytes must
// be those of the shape; offsets are not looked at otherwise. Throws WeightFailure.
SafetensorsHeader parse_safetensors_header(std::string_view json);

// The type of a dtype's name; throws WeightFailure, which begins with `name`, where it is not read.
StoredType safetensors_type(std::string_view dtype, std::string_view name);

}  // namespace sink
