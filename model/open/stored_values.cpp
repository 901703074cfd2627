#include "model/open/stored_values.h"

#include <algorithm>
#include <atomic>

#include "engine/stored/stored_type.h"
#include "engine/threads.h"

namespace sink {
namespace {

// Decodes ever longer pieces: most rows begin with another value.
bool is_zero(const StoredTensor& tensor, std::int64_t row, std::int64_t columns) {
  constexpr std::int64_t kLongest = 1024;
  const StoredLayout& block = layout_of(tensor.type);
  float values[kLongest];
  const std::int64_t end = (row + 1) * columns;
  for (std::int64_t i = row * columns, piece = block.elements; i < end;
       i += piece, piece = std::min(2 * piece, kLongest)) {
    piece = std::min(piece, end - i);
    decode(tensor.type, tensor.data + i / block.elements * block.bytes, piece, values);
    if (std::any_of(values, values + piece, [](float x) { return x != 0; })) return false;
  }
  return true;
}

}  // namespace

std::int64_t first_not_finite(const StoredTensor& tensor) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 18;  // elements, a multiple of the block of every type
  const StoredLayout& block = layout_of(tensor.type);
  const std::int64_t count = tensor.shape.size(), pieces = (count + kPiece - 1) / kPiece;
  std::atomic<std::int64_t> first = count;
  parallel_for(pieces, [&](std::int64_t piece) {
    const std::int64_t begin = piece * kPiece;
    if (begin >= first.load(std::memory_order_relaxed)) return;
    const std::int64_t found = sink::first_not_finite(tensor.type, tensor.data + begin / block.elements * block.bytes,
                                                      std::min(kPiece, count - begin));
    if (found < 0) return;
    std::int64_t before = first.load();
    while (begin + found < before && !first.compare_exchange_weak(before, begin + found)) {}
  });
  return first == count ? -1 : first.load();
}

ZeroRows zero_rows(const StoredTensor& tensor) {
  constexpr std::int64_t kSample = 1024;
  const std::int64_t columns = tensor.shape[tensor.shape.rank() - 1];
  if (columns == 0 || tensor.shape.size() == 0) return {};
  const std::int64_t rows = tensor.shape.size() / columns;
  auto count = [&](std::int64_t looked_at) {
    ZeroRows counted{.rows = looked_at};
    for (std::int64_t n = 0; n < looked_at; ++n) counted.zero += is_zero(tensor, n * rows / looked_at, columns);
    return counted;
  };
  const ZeroRows sample = count(std::min(rows, kSample));
  return sample.rows < rows && 4 * sample.zero > sample.rows ? count(rows) : sample;
}

std::string place_of(const StoredTensor& tensor, std::int64_t i) {
  Shape place = tensor.shape;
  for (int axis = place.rank(); axis-- > 0; i /= tensor.shape[axis]) place[axis] = i % tensor.shape[axis];
  return place.str();
}

}  // namespace sink
