#include "engine/shape.h"

#include "engine/check.h"

namespace sink {
Shape::Shape(std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t size : sizes) append(size);
}

void Shape::append(std::int64_t size) {
  SINK_CHECK(rank_ < kMaxRank, "shape", "a tensor has at most 5 axes");
  SINK_CHECK(size >= 0, "shape", "expected a size of at least 0, got " + std::to_string(size));
  sizes_[rank_++] = size;
}

std::int64_t Shape::size() const {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
  std::int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis)
    SINK_CHECK(!__builtin_mul_overflow(product, sizes_[axis], &product) && product < kMostElements, "shape",
               str() + " has more elements than any memory holds", Exit::out_of_memory);
  return product;
}

std::string Shape::str() const {
  std::string text = "(";
  for (int axis = 0; axis < rank_; ++axis) text += (axis ? ", " : "") + std::to_string(sizes_[axis]);
  return text + ")";
}

}  // namespace sink
