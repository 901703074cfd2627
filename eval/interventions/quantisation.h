// Fake quantisation: numbers rounded to a grid of few bits and kept as floats, so that a model computes what it would
// if they were stored so. The grid is symmetric around zero and ends at the largest |x| of those that share a scale.
#pragma once

#include <memory>
#include <vector>

#include "engine/stored/stored_matrix.h"
#include "eval/interventions/intervention.h"
#include "model/language_model.h"

namespace sink {

// x on a grid of 2^bits - 1 steps around zero that ends at +-`largest`; 0 where largest is 0.
double quantised(double x, double largest, int bits);

// Every (rows, columns) block of x: one scale for all of it, or for each row or column.
enum class ScalePer { block, row, column };
void quantise_blocks(Tensor& x, std::int64_t rows, std::int64_t columns, ScalePer scale, int bits);

// The matrices of the blocks, rounded while this lives. Those that lie in a file are decoded to memory, 4 bytes a
// number.
class QuantisedMatrices {
 public:
  QuantisedMatrices(LanguageModel& model, int bits, Grain grain);
  ~QuantisedMatrices();
  QuantisedMatrices(const QuantisedMatrices&) = delete;
  QuantisedMatrices& operator=(const QuantisedMatrices&) = delete;

 private:
  LanguageModel& model_;
  Tensor kept_;
  std::vector<std::pair<Parameter*, std::shared_ptr<const StoredMatrix>>> replaced_;
};

}  // namespace sink
