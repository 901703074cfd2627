// Sums of squares of pieces in plain order.
#include "engine/ops/reductions/partial_squared_norms.h"

#include "engine/implementation.h"

namespace sink::ref {

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  const double* x_i = x.data<double>();
  double* squares = sums.data<double>();
  for (std::int64_t p = 0; p < sums.size(); ++p) {
    squares[p] = 0;
    for (std::int64_t i = p * kSquaresPiece; i < (p + 1) * kSquaresPiece; ++i) squares[p] += x_i[i] * x_i[i];
  }
}

void sum_pieces(const Tensor& sums, const std::vector<Segment>& sections, Tensor& sum) {
  const double* squares = sums.data<double>();
  double total = 0;
  for (const Segment& section : sections) {
    double of_section = 0;
    for (std::int64_t p = section.begin; p < section.end; ++p) of_section += squares[p];
    total += of_section;
  }
  *sum.data<double>() = total;
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  SINK_CHECK(x.dtype() != DType::I32 && x.size() % kSquaresPiece == 0, "partial_squared_norms",
             "expected real numbers, whole pieces of " + std::to_string(kSquaresPiece) + ", got " + x.str());
  SINK_CHECK(sums.dtype() == DType::F64 && sums.size() == x.size() / kSquaresPiece, "partial_squared_norms",
             "expected an f64 for each piece of " + x.str() + ", got " + sums.str());
  if (x.size() > 0) SINK_SELECT(x, partial_squared_norms)(x, sums);
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
