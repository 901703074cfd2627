// How many bytes a tensor of a stored type takes.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/shape.h"
#include "engine/stored/stored_type.h"

namespace sink {

// Bytes of a tensor: product(shape) / numbers of a block * bytes of a block. Throws WeightFailure, which begins with
// `name`, where no memory holds so many, and where the last axis is not whole blocks.
std::uint64_t stored_bytes(std::string_view name, StoredType type, const Shape& shape);

}  // namespace sink
