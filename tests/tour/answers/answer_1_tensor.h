// An answer to exercise 1 of the tour.
#pragma once

#include <vector>

#include "engine/shape.h"

namespace sink::tour {

inline std::int64_t place_of(const Shape& shape, const std::vector<std::int64_t>& index) {
  std::int64_t place = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) place = place * shape[axis] + index[static_cast<std::size_t>(axis)];
  return place;
}

}  // namespace sink::tour
