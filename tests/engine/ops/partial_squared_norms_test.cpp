// The squared norm in blocks, whichever ranks have them.
#include "engine/ops/reductions/partial_squared_norms.h"

#include <doctest/doctest.h>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"

using namespace sink;

namespace {

Tensor squares_of(const Tensor& x) {
  Tensor squares = Tensor::full({x.size() / kSquaredNormBlock}, -1, DType::F64);
  partial_squared_norms(x, squares);
  return squares;
}

double total_of(const Tensor& squares, const std::vector<Segment>& ranges, Device device = Device::cpu) {
  Tensor sum = Tensor::full({1}, 5, DType::F64, device);
  sum_squared_norms(squares.to(device), ranges, sum);
  return sum.item();
}

}  // namespace

TEST_CASE("partial_squared_norms: each block separately, exactly for whole numbers") {
  Tensor x = Tensor::zeros({3 * kSquaredNormBlock});
  x.data<float>()[0] = 3, x.data<float>()[kSquaredNormBlock - 1] = 4, x.data<float>()[2 * kSquaredNormBlock] = -12;
  Tensor squares = squares_of(x);
  CHECK(squares.item(0) == 25);
  CHECK(squares.item(1) == 0);
  CHECK(squares.item(2) == 144);
  CHECK(total_of(squares, {{0, 2}, {2, 3}}) == 169);
  CHECK(total_of(squares, {{2, 3}}) == 144);
  CHECK(total_of(squares, {}) == 0);
}

TEST_CASE("partial_squared_norms: neither the owner of a block nor padding changes the sum") {
  Tensor x = random_tensor({7 * kSquaredNormBlock}, DType::F32, 6);
  Tensor whole = squares_of(x), parts = Tensor::zeros({12}, DType::F64);
  for (std::int64_t p = 0; p < 7; ++p) {
    Tensor one = squares_of(x.rows(p * kSquaredNormBlock, (p + 1) * kSquaredNormBlock));
    parts.data<double>()[p < 3 ? p : p + 2] = one.item();  // the first range ends with two blocks of zeros
  }
  CHECK(total_of(whole, {{0, 3}, {3, 7}}) == total_of(parts, {{0, 5}, {5, 12}}));
}

TEST_CASE("partial_squared_norms: every backend equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensors given{random_tensor({40 * kSquaredNormBlock}, dtype, 1), Tensor::zeros({40}, DType::F64)};
    check_backends(
        "partial_squared_norms", given, [](Tensors& t) { partial_squared_norms(t[0], t[1]); }, 1e-6);
  }
}

TEST_CASE("partial_squared_norms: padding at the end of a range does not change the sum") {
  Tensor squares = random_tensor({700}, DType::F64, 2), wide = Tensor::zeros({900}, DType::F64);
  const std::vector<Segment> ranges{{0, 300}, {300, 700}}, of_wide{{0, 450}, {450, 900}};
  check_backends(
      "sum_squared_norms", {squares, Tensor::zeros({1}, DType::F64)},
      [&](Tensors& t) { sum_squared_norms(t[0], ranges, t[1]); }, 1e-14);
  wide.rows(0, 300).copy_from(squares.rows(0, 300));
  wide.rows(450, 850).copy_from(squares.rows(300, 700));
  for (Device device : kDevices) {
    CHECK(total_of(squares, ranges, device) == total_of(wide, of_wide, device));
    CHECK(total_of(squares, {}, device) == 0);
  }
}

TEST_CASE("partial_squared_norms: squares beyond f32 do not overflow, a NaN shows, and what does not fit is refused") {
  Tensor x = Tensor::zeros({kSquaredNormBlock});
  x.data<float>()[7] = 1e30f;
  CHECK(total_of(squares_of(x), {{0, 1}}) == doctest::Approx(1e60));
  x.data<float>()[8] = std::nanf("");
  CHECK(std::isnan(total_of(squares_of(x), {{0, 1}})));
  Tensor one = Tensor::zeros({1}, DType::F64), sum = one.clone();
  check_refused([&] { partial_squared_norms(Tensor::zeros({100}), one); }, {"4096", "f32 (100)"});
  check_refused([&] { partial_squared_norms(Tensor::zeros({2 * kSquaredNormBlock}), one); }, {"f32 (8192)", "f64 (1)"});
  check_refused([&] { sum_squared_norms(one, {{0, 2}}, sum); }, {"[0, 2)", "f64 (1)"});
}
