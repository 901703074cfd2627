#include "engine/io/weights/stored_bytes.h"

#include <algorithm>

#include "engine/io/weights/weight_failure.h"

namespace sink {

std::uint64_t stored_bytes(std::string_view name, StoredType type, const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;  // elements, as of Shape
  std::int64_t numbers = 1;                              // but for axes of size 0
  bool empty = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    empty = empty || shape[axis] == 0;
    if (__builtin_mul_overflow(numbers, std::max<std::int64_t>(shape[axis], 1), &numbers) || numbers >= kMost)
      throw WeightFailure(in_quotes(name) + " has shape " + shape.str() + ", more elements than any memory holds");
  }
  const StoredLayout& block = layout_of(type);
  if (block.numbers > 1 && (shape.rank() == 0 || shape[-1] % block.numbers != 0))
    throw WeightFailure(in_quotes(name) + " has shape " + shape.str() + "; expected rows of whole blocks of " +
                        std::to_string(block.numbers) + ", as " + block.name + " has them");
  if (empty) return 0;
  return static_cast<std::uint64_t>(numbers / block.numbers) * static_cast<std::uint64_t>(block.bytes);
}

}  // namespace sink
