// Rows of a stored tensor as floats.
#pragma once

#include "engine/check.h"
#include "engine/io/weights/weight_file.h"
#include "engine/stored/stored_type.h"

namespace sink {

// out[r * row_size + i] = element i of row first_row + r, for `rows` rows.
inline void decode_rows(const StoredTensor& stored, std::int64_t first_row, std::int64_t rows, float* out) {
  SINK_CHECK(first_row >= 0 && rows >= 0 && first_row <= stored.rows() && rows <= stored.rows() - first_row, "weights",
             stored.name + " has " + std::to_string(stored.rows()) + " rows; asked for " + std::to_string(rows) +
                 " from row " + std::to_string(first_row));
  const StoredLayout& block = layout_of(stored.type);
  const std::int64_t row = stored.row_size();
  decode(stored.type, stored.data + first_row * row / block.elements * block.bytes, rows * row, out);
}

}  // namespace sink
