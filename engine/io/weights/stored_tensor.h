// A tensor as it lies in a file of weights: its numbers are not copied, and may be of a type that only files have.
#pragma once

#include <cstddef>
#include <string>

#include "engine/shape.h"
#include "engine/stored/stored_type.h"

namespace sink {

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  Shape shape;                          // outermost axis first, whatever the file's order
  const unsigned char* data = nullptr;  // at any address; lives as long as its WeightFile
  std::size_t bytes = 0;

  // A row is the last axis; a scalar is one row of one number.
  std::int64_t row_size() const { return shape.rank() == 0 ? 1 : shape[-1]; }
  std::int64_t rows() const { return row_size() == 0 ? 0 : shape.size() / row_size(); }
};

}  // namespace sink
