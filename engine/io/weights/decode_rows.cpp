#include "engine/io/weights/decode_rows.h"

#include "engine/check.h"
#include "engine/stored/decode.h"

namespace sink {

void decode_rows(const StoredTensor& stored, std::int64_t first_row, std::int64_t rows, float* out) {
  SINK_CHECK(first_row >= 0 && rows >= 0 && first_row <= stored.rows() && rows <= stored.rows() - first_row, "weights",
             stored.name + " has " + std::to_string(stored.rows()) + " rows; asked for " + std::to_string(rows) +
                 " from row " + std::to_string(first_row));
  const StoredLayout& block = layout_of(stored.type);
  const std::int64_t row = stored.row_size(), count = rows * row;
  const unsigned char* from = stored.data + first_row * row / block.numbers * block.bytes;
  decode(stored.type, from, count, out);
}

}  // namespace sink
