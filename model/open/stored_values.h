// What is wrong with the values of a tensor in a file of another program.
#pragma once

#include <cstdint>
#include <string>

#include "engine/io/weights/weight_file.h"

namespace sink {

// The index of the first element that is NaN or infinite; -1: none.
std::int64_t first_not_finite(const StoredTensor& tensor);

// How many of the tensor's rows (along its last axis) were looked at and how many of them are zero only: all rows, or
// in a large tensor first 1024 of them, evenly spaced.
struct ZeroRows {
  std::int64_t rows = 0, zero = 0;
};
ZeroRows zero_rows(const StoredTensor& tensor);

// The indices of element `i` of the file: "(3, 17)".
std::string place_of(const StoredTensor& tensor, std::int64_t i);

}  // namespace sink
