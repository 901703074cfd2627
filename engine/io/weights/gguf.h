// GGUF, versions 2 and 3: the files of llama.cpp and its kin, with everything about a model in one of them.
#pragma once

#include <string>

#include "engine/io/weights/weight_file.h"

namespace sink {

// On disk, little-endian, a string being a u64 length and its bytes:
//   "GGUF"; u32 version; u64 tensors; u64 entries
//   an entry: string key; u32 type (MetadataType); the value
//   a tensor: string name; u32 axes; u64 size of each axis, innermost first; u32 type; u64 offset
//   up to a multiple of the entry `general.alignment` (32 where there is none): the numbers, which offsets count from.
// A tensor begins where another ends, or the numbers do, filled up with zeros to a multiple of the alignment; so does
// the file end, with or without the filling.
// A row's length is whole blocks. Files of version 1 or of big-endian machines are refused, and types without a
// StoredType are, by their names. Throws Error as read_weights.
WeightFile read_gguf(const std::string& path);

}  // namespace sink
