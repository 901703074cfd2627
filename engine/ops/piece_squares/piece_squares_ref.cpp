#include "engine/ops/piece_squares/piece_squares_ref.h"

#include "engine/ops/piece_squares/piece_squares.h"

namespace sink::ref {

void piece_squares(const Tensor& x, Tensor& sums) {
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
