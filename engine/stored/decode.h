// Numbers of a stored type as floats.
#pragma once

#include <cstdint>

#include "engine/stored/stored_type.h"

namespace sink {

// `count` numbers, of whole blocks, each rounded to f32 once (F64, I64, I32, and sums of blocks; all others are exact).
void decode(StoredType type, const unsigned char* from, std::int64_t count, float* out);
// The same, where an F64 is not rounded.
void decode(StoredType type, const unsigned char* from, std::int64_t count, double* out);

}  // namespace sink
