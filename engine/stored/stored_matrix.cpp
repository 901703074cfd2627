#include "engine/stored/stored_matrix.h"

#include "engine/stored/stored_type.h"

namespace sink {

template <class R>
void decode_rows(const StoredPart& part, std::int64_t columns, std::int64_t first, std::int64_t count, R* out) {
  if (!part.transposed) {
    const std::int64_t piece = columns / part.pieces;  // whole blocks
    for (std::int64_t n = 0; n < count * part.pieces; ++n)
      decode(part.type, part.lines[static_cast<std::size_t>(first * part.pieces + n)], piece, out + n * piece);
    return;
  }
  // A strip of every column, which becomes a column of `out`.
  const std::int64_t size = layout_of(part.type).bytes;
  std::vector<R> strip(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < columns; ++c) {
    decode(part.type, part.lines[static_cast<std::size_t>(c)] + first * size, count, strip.data());
    for (std::int64_t r = 0; r < count; ++r) out[r * columns + c] = strip[static_cast<std::size_t>(r)];
  }
}

template void decode_rows(const StoredPart&, std::int64_t, std::int64_t, std::int64_t, float*);
template void decode_rows(const StoredPart&, std::int64_t, std::int64_t, std::int64_t, double*);

std::vector<double> row_of(const StoredMatrix& matrix, std::int64_t i) {
  std::vector<float> row(static_cast<std::size_t>(matrix.columns));
  for (const StoredPart& part : matrix.parts) {
    if (0 <= i && i < part.rows) decode_rows(part, matrix.columns, i, 1, row.data());
    i -= part.rows;
  }
  return {row.begin(), row.end()};
}

}  // namespace sink
