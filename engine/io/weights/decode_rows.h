// Numbers of a stored tensor as floats, whatever their type in the file.
#pragma once

#include <cstdint>

#include "engine/io/weights/stored_tensor.h"

namespace sink {

// out[r * row_size + i] = element i of row first_row + r, for `rows` rows: the number that the file's type stands for,
// rounded to f32 once (F64, I64, I32, and sums of blocks; all others are exact). Throws Error (Exit::failure) where the
// tensor has not these rows.
void decode_rows(const StoredTensor& stored, std::int64_t first_row, std::int64_t rows, float* out);

}  // namespace sink
