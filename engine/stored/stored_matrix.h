// A matrix of weights in a memory-mapped file, in the type of the file. Its rows may come from several tensors in any
// order: query, key and value matrices act as one without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/stored/stored_type.h"

namespace sink {

// Lines of one type: rows of the matrix, each of `pieces` lines of equal length after each other (the columns of each
// expert), or, where it is stored transposed (GPT-2's Conv1D), its columns, one line per column of plain elements, each
// beginning with the first row of this part.
struct StoredPart {
  StoredType type = StoredType::F32;
  bool transposed = false;
  std::int64_t rows = 0;
  std::vector<const unsigned char*> lines;
  std::int64_t pieces = 1;  // lines of a row
};

struct StoredMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<StoredPart> parts;      // below each other
  float times = 1;                    // factor of every element; stored_cross_entropy does not apply it
  std::shared_ptr<const void> owner;  // of the memory

  std::string str() const { return "stored (" + std::to_string(rows) + ", " + std::to_string(columns) + ")"; }
};

// Rows [first, first + count) of a part of `columns` columns, one after the other; R is float or double.
template <class R>
void decode_rows(const StoredPart& part, std::int64_t columns, std::int64_t first, std::int64_t count, R* out);
// Row i, for references.
std::vector<double> row_of(const StoredMatrix& matrix, std::int64_t i);

}  // namespace sink
