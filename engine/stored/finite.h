// Looks for stored values that are NaN or infinite.
#pragma once

#include <cstdint>

#include "engine/stored/stored_type.h"

namespace sink {

// The first of `count` elements, of whole blocks, that decode() would make NaN or infinite; -1: all are finite. Reads
// each byte once and decodes nothing: a number is not finite where all bits of its exponent are set, and a block where
// its scale or its minimum is not, which are f16 and so cannot overflow in f32. An F64 beyond the range of f32 counts
// as infinite.
std::int64_t first_not_finite(StoredType type, const unsigned char* from, std::int64_t count);

}  // namespace sink
