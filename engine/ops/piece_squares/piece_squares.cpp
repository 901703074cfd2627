#include "engine/ops/piece_squares/piece_squares.h"

#include "engine/implementation.h"
#include "engine/ops/piece_squares/piece_squares_cpu.h"
#include "engine/ops/piece_squares/piece_squares_cuda.h"
#include "engine/ops/piece_squares/piece_squares_ref.h"

namespace sink {

namespace cpu {
using ref::sum_pieces;  // few numbers, in double anyway
}

void piece_squares(const Tensor& x, Tensor& squares_P) {
  SINK_CHECK(x.dtype() != DType::I32 && x.size() % kSquaresPiece == 0, "piece_squares",
             "expected real numbers, whole pieces of " + std::to_string(kSquaresPiece) + ", got " + x.str());
  SINK_CHECK(squares_P.dtype() == DType::F64 && squares_P.size() == x.size() / kSquaresPiece, "piece_squares",
             "expected an f64 for each piece of " + x.str() + ", got " + squares_P.str());
  if (x.size() > 0) SINK_SELECT(x, piece_squares)(x, squares_P);
}

void sum_pieces(const Tensor& squares_P, const std::vector<Segment>& sections, Tensor& sum) {
  SINK_CHECK(
      squares_P.dtype() == DType::F64 && sum.dtype() == DType::F64 && sum.size() == 1, "sum_pieces",
      "expected sums of pieces and one number for their sum, both f64, got " + squares_P.str() + " and " + sum.str());
  for (const Segment& section : sections)
    SINK_CHECK(0 <= section.begin && section.begin <= section.end && section.end <= squares_P.size(), "sum_pieces",
               "the section [" + std::to_string(section.begin) + ", " + std::to_string(section.end) + ") is not in " +
                   squares_P.str());
  SINK_SELECT(squares_P, sum_pieces)(squares_P, sections, sum);
}

}  // namespace sink
