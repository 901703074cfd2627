// The sum of squares by pieces on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/reductions/partial_squared_norms.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("partial_squared_norms on the device: equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensors given{random_tensor({3 * kSquaresPiece}, dtype, 1), Tensor::zeros({3}, DType::F64)};
    check_device_backend(
        "partial_squared_norms", given, [](Tensors& t) { partial_squared_norms(t[0], t[1]); }, 1e-6);
  }
}

TEST_CASE("partial_squared_norms on the device: sections one after another, however far they are filled up") {
  Tensor squares = random_tensor({700}, DType::F64, 2), wide = Tensor::zeros({900}, DType::F64);
  const std::vector<Segment> sections{{0, 300}, {300, 700}}, of_wide{{0, 450}, {450, 900}};
  check_device_backend(
      "sum_pieces", {squares, Tensor::zeros({1}, DType::F64)}, [&](Tensors& t) { sum_pieces(t[0], sections, t[1]); },
      1e-14);
  wide.rows(0, 300).copy_from(squares.rows(0, 300));
  wide.rows(450, 850).copy_from(squares.rows(300, 700));
  auto on_device = [](const Tensor& x, const std::vector<Segment>& of) {
    Tensor sum = Tensor::full({1}, 5, DType::F64).to(Device::cuda);
    sum_pieces(x.to(Device::cuda), of, sum);
    return sum.item();
  };
  CHECK(on_device(squares, sections) == on_device(wide, of_wide));
  CHECK(on_device(squares, {}) == 0);
}
