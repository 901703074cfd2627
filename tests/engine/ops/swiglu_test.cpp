// The gated unit and its gradients.
#include "engine/ops/swiglu/swiglu.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"

using namespace sink;

TEST_CASE("swiglu: a row by hand") {
  // gate = ln 3: logistic 3/4, silu 0.75 ln 3. up = 2: y = 1.5 ln 3.
  // dy = 1: dup = 0.75 ln 3, dgate = 2 * 0.75 * (1 + ln 3 / 4).
  double ln3 = std::log(3.0);
  for (DType dtype : {DType::F32, DType::F64}) {
    Tensor gate_up = Tensor::from<double>({1, 2}, {ln3, 2}).to(dtype), y = Tensor::empty({1, 1}, dtype);
    Tensor dy = Tensor::full({1, 1}, 1, dtype), dgate_up = Tensor::empty({1, 2}, dtype);
    swiglu(gate_up, y);
    swiglu_backward(dy, gate_up, dgate_up);
    check_close("y", y, Tensor::from<double>({1, 1}, {1.5 * ln3}), 1e-6);
    check_close("dgate_up", dgate_up, Tensor::from<double>({1, 2}, {1.5 * (1 + ln3 / 4), 0.75 * ln3}), 1e-6);
  }
}

TEST_CASE("swiglu: F32 and bf16 equal F64") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t rows : {1, 3, 100})
      for (std::int64_t F : {1, 7, 16, 33, 256}) {
        double tolerance = dtype == DType::F32 ? 1e-5 : 2e-2;
        Tensor gate_up = random_tensor({rows, 2 * F}, dtype, 1, 3), dy = random_tensor({rows, F}, dtype, 2);
        Tensor y = Tensor::empty({rows, F}, dtype), dgate_up = Tensor::empty({rows, 2 * F}, dtype);
        Tensor y64 = Tensor::empty({rows, F}, DType::F64), dgate_up64 = Tensor::empty({rows, 2 * F}, DType::F64);
        swiglu(gate_up, y);
        swiglu(gate_up.to(DType::F64), y64);
        check_close("y", y, y64, tolerance);
        swiglu_backward(dy, gate_up, dgate_up);
        swiglu_backward(dy.to(DType::F64), gate_up.to(DType::F64), dgate_up64);
        check_close("dgate_up", dgate_up, dgate_up64, tolerance);
      }
}

TEST_CASE("swiglu: a gate of zero shuts, huge gates are the identity and zero") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor gate_up = Tensor::from<float>({4, 2}, {0, 5, 1024, 5, -1024, 5, -100, 5}).to(dtype);
    Tensor y = Tensor::empty({4, 1}, dtype), dgate_up = Tensor::empty({4, 2}, dtype);
    swiglu(gate_up, y);
    check_close("y", y, Tensor::from<float>({4, 1}, {0, 5120, 0, 0}), 0, 1e-30);
    swiglu_backward(Tensor::full({4, 1}, 1, dtype), gate_up, dgate_up);
    // dgate = up l (1 + gate (1 - l)): up/2 at 0, up at +oo, 0 at -oo. dup = silu(gate).
    check_close("dgate_up", dgate_up, Tensor::from<float>({4, 2}, {2.5, 0, 5, 1024, 0, 0, 0, 0}), 0, 1e-30);
  }
}

TEST_CASE("swiglu: a NaN stays a NaN") {
  Tensor gate_up = Tensor::from<float>({1, 4}, {NAN, 1, 2, NAN}), y = Tensor::empty({1, 2});
  swiglu(gate_up, y);
  CHECK(std::isnan(y.item(0)));
  CHECK(std::isnan(y.item(1)));
}

TEST_CASE("swiglu: shapes and types that do not fit are named") {
  Tensor gate_up = Tensor::zeros({3, 8}), y = Tensor::zeros({3, 5}), y_f64 = Tensor::zeros({3, 4}, DType::F64);
  check_refused([&] { swiglu(gate_up, y); }, {"[swiglu]", "f32 (3, 8)", "f32 (3, 5)"});
  check_refused([&] { swiglu(gate_up, y_f64); }, {"[swiglu]", "f32 (3, 8)", "f64 (3, 4)"});
  check_refused([&] { swiglu_backward(y, gate_up, gate_up); }, {"[swiglu]", "f32 (3, 8)", "f32 (3, 5)"});
}

TEST_CASE("swiglu: leading axes must agree too") {
  Tensor gate_up = Tensor::zeros({4, 3, 8}), y = Tensor::zeros({3, 4, 4});
  check_refused([&] { swiglu(gate_up, y); }, {"[swiglu]", "f32 (4, 3, 8)", "f32 (3, 4, 4)"});
}
