#include "engine/ops/piece_squares/piece_squares.h"

#include "engine/implementation.h"
#include "engine/ops/piece_squares/piece_squares_cpu.h"
#include "engine/ops/piece_squares/piece_squares_cuda.h"
#include "engine/ops/piece_squares/piece_squares_ref.h"

namespace sink {

namespace cpu {
using ref::sum_pieces;  // few numbers, in double anyway
}

void piece_squares(const Tensor& x, Tensor& sums) {
  SINK_CHECK(x.dtype() != DType::I32 && x.size() % kSquaresPiece == 0, "piece_squares",
             "expected real numbers, whole pieces of " + std::to_string(kSquaresPiece) + ", got " + x.str());
  SINK_CHECK(sums.dtype() == DType::F64 && sums.size() == x.size() / kSquaresPiece, "piece_squares",
             "expected an f64 for each piece of " + x.str() + ", got " + sums.str());
  if (x.size() > 0) SINK_SELECT(x, piece_squares)(x, sums);
}

void sum_pieces(const Tensor& sums, const std::vector<Segment>& sections, Tensor& sum) {
  SINK_CHECK(sums.dtype() == DType::F64 && sum.dtype() == DType::F64 && sum.size() == 1, "sum_pieces",
             "expected sums of pieces and one number for their sum, both f64, got " + sums.str() + " and " + sum.str());
  for (const Segment& section : sections)
    SINK_CHECK(0 <= section.begin && section.begin <= section.end && section.end <= sums.size(), "sum_pieces",
               "the section [" + std::to_string(section.begin) + ", " + std::to_string(section.end) + ") is not in " +
                   sums.str());
  SINK_SELECT(sums, sum_pieces)(sums, sections, sum);
}

}  // namespace sink
