// Elementwise functions on the CUDA device.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/activation/activation.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

// y = F(x) and dx for the upstream gradient dy.
template <class F>
void check_function(const Tensor& x, const Tensor& dy) {
  Tensors given{x, dy, random_tensor(x.shape(), x.dtype(), 3), random_tensor(x.shape(), x.dtype(), 4)};
  auto run = [](Tensors& t) {
    activation<F>(t[0], t[2]);
    activation_backward<F>(t[1], t[0], t[3]);
  };
  check_device_backend("activation", given, run);
  if (x.size() == 256) check_unaligned_backend("activation", given, run);
}

}  // namespace

TEST_CASE_TEMPLATE("activation on the device: equals the double reference", F, ReluFunction, GeluFunction,
                   GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (Shape shape : {Shape{1}, Shape{7}, Shape{3, 11}, Shape{65}, Shape{256}, Shape{2, 5, 130}, Shape{0}}) {
      CAPTURE(shape.str());
      double scale = shape.size() == 1 ? 1 : 3;  // the only number does not lie where 1 + erf(x) cancels
      check_function<F>(random_tensor(shape, dtype, 1, scale), random_tensor(shape, dtype, 2));
    }
}

TEST_CASE_TEMPLATE("activation on the device: far from 0, and at NaN", F, ReluFunction, GeluFunction, GeluTanhFunction,
                   SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensor x = Tensor::from<float>({6}, {NAN, 1024, -1024, 0x1p70f, -0x1p70f, 0}).to(dtype);
    check_function<F>(x, Tensor::full({6}, 1, dtype));
  }
}
