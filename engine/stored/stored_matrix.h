// A matrix of weights that is read where it lies, in a mapped file, in the type that it has there. Its rows may come
// from several tensors, and in any order: so queries, keys and values of three matrices are one, and nothing is copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/stored/stored_type.h"

namespace sink {

// Lines of one type. They are rows of the matrix, or, where it lies transposed (GPT-2's Conv1D), its columns: then
// there is one for each column, of plain numbers, each beginning with the first row of this part.
struct StoredPart {
  StoredType type = StoredType::F32;
  bool transposed = false;
  std::int64_t rows = 0;
  std::vector<const unsigned char*> lines;
};

struct StoredMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<StoredPart> parts;      // below each other
  float times = 1;                    // of every number, where rows are looked up
  std::shared_ptr<const void> owner;  // of the memory

  std::string str() const { return "stored (" + std::to_string(rows) + ", " + std::to_string(columns) + ")"; }
};

// Rows [first, first + count) of a part of `columns` columns, one after the other; R is float or double.
template <class R>
void decode_rows(const StoredPart& part, std::int64_t columns, std::int64_t first, std::int64_t count, R* out);
// Row i, for references.
std::vector<double> row_of(const StoredMatrix& matrix, std::int64_t i);

}  // namespace sink
