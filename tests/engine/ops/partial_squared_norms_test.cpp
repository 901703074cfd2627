// The sum of squares by pieces, whoever has them.
#include "engine/ops/reductions/partial_squared_norms.h"

#include <doctest/doctest.h>

#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"

using namespace sink;

namespace {

Tensor squares_of(const Tensor& x) {
  Tensor squares = Tensor::full({x.size() / kSquaresPiece}, -1, DType::F64);
  partial_squared_norms(x, squares);
  return squares;
}

double total_of(const Tensor& squares, const std::vector<Segment>& sections) {
  Tensor sum = Tensor::zeros({1}, DType::F64);
  sum_pieces(squares, sections, sum);
  return sum.item();
}

}  // namespace

TEST_CASE("partial_squared_norms: each piece alone, exactly for whole numbers") {
  Tensor x = Tensor::zeros({3 * kSquaresPiece});
  x.data<float>()[0] = 3, x.data<float>()[kSquaresPiece - 1] = 4, x.data<float>()[2 * kSquaresPiece] = -12;
  Tensor squares = squares_of(x);
  CHECK(squares.item(0) == 25);
  CHECK(squares.item(1) == 0);
  CHECK(squares.item(2) == 144);
  CHECK(total_of(squares, {{0, 2}, {2, 3}}) == 169);
  CHECK(total_of(squares, {{2, 3}}) == 144);
  CHECK(total_of(squares, {}) == 0);
}

TEST_CASE("partial_squared_norms: equals f64 on the same numbers, and the same bits with one and with two threads") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensor x = random_tensor({40 * kSquaresPiece}, dtype, 5);
    Tensor squares = squares_of(x), reference = squares_of(x.to(DType::F64));
    for (std::int64_t p = 0; p < squares.size(); ++p)
      CHECK(squares.item(p) == doctest::Approx(reference.item(p)).epsilon(1e-13));
    const int threads = thread_count();
    set_thread_count(1);
    Tensor one = squares_of(x);
    set_thread_count(2);
    Tensor two = squares_of(x);
    set_thread_count(threads);
    for (std::int64_t p = 0; p < squares.size(); ++p) CHECK(one.item(p) == two.item(p));
  }
}

TEST_CASE("partial_squared_norms: who has a piece and how far a section is filled up does not change a bit") {
  Tensor x = random_tensor({7 * kSquaresPiece}, DType::F32, 6);
  Tensor whole = squares_of(x), parts = Tensor::zeros({12}, DType::F64);
  for (std::int64_t p = 0; p < 7; ++p) {
    Tensor one = squares_of(x.rows(p * kSquaresPiece, (p + 1) * kSquaresPiece));
    parts.data<double>()[p < 3 ? p : p + 2] = one.item();  // the first section has two pieces of zeros behind
  }
  CHECK(total_of(whole, {{0, 3}, {3, 7}}) == total_of(parts, {{0, 5}, {5, 12}}));
}

TEST_CASE("partial_squared_norms: squares beyond f32 do not overflow, a NaN shows, and what does not fit is refused") {
  Tensor x = Tensor::zeros({kSquaresPiece});
  x.data<float>()[7] = 1e30f;
  CHECK(total_of(squares_of(x), {{0, 1}}) == doctest::Approx(1e60));
  x.data<float>()[8] = std::nanf("");
  CHECK(std::isnan(total_of(squares_of(x), {{0, 1}})));
  Tensor one = Tensor::zeros({1}, DType::F64), sum = one.clone();
  check_refused([&] { partial_squared_norms(Tensor::zeros({100}), one); }, {"4096", "f32 (100)"});
  check_refused([&] { partial_squared_norms(Tensor::zeros({2 * kSquaresPiece}), one); }, {"f32 (8192)", "f64 (1)"});
  check_refused([&] { sum_pieces(one, {{0, 2}}, sum); }, {"[0, 2)", "f64 (1)"});
}
