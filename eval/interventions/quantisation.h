// Fake quantisation: values rounded to a grid of few bits and kept in floating point, so that the model computes what
// it would with quantised storage. The grid is symmetric around zero and ends at the largest |x| that shares the scale.
#pragma once

#include <memory>
#include <vector>

#include "engine/stored/stored_matrix.h"
#include "eval/interventions/intervention.h"
#include "model/language_model.h"

namespace sink {

// x rounded to the 2^bits - 1 steps of [-largest, largest]; 0 if largest is 0.
double quantised(double x, double largest, int bits);

// x (..., C) as a matrix with C columns: every (rows, columns) tile of it is quantised with a separate scale. `rows`
// and `columns` divide the sizes of the matrix.
void quantise_tiles(Tensor& x, std::int64_t rows, std::int64_t columns, int bits);

// Quantises the matrices of the blocks of a model for its lifetime. Memory-mapped matrices are decoded to f32 copies.
class QuantisedMatrices {
 public:
  QuantisedMatrices(LanguageModel& model, int bits, Grain grain);
  ~QuantisedMatrices();
  QuantisedMatrices(const QuantisedMatrices&) = delete;
  QuantisedMatrices& operator=(const QuantisedMatrices&) = delete;

 private:
  LanguageModel& model_;
  Tensor saved_;
  std::vector<std::pair<Parameter*, std::shared_ptr<const StoredMatrix>>> replaced_;
};

}  // namespace sink
