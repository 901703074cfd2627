// The output gate of attention and its gradients.
#include "engine/ops/gate/gate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/gate_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

// y, do and dgate of o, gate and the upstream gradient dy, all of one type.
struct Gate {
  Tensor y, d_o, dgate;

  Gate(const Tensor& o, const Tensor& g, const Tensor& dy, GateFunction f = GateFunction::logistic)
      : y(Tensor::empty(o.shape(), o.dtype())),
        d_o(Tensor::empty(o.shape(), o.dtype())),
        dgate(Tensor::empty(g.shape(), g.dtype())) {
    gate(o, g, y, f);
    gate_backward(dy, o, g, d_o, dgate, f);
  }
};

}  // namespace

TEST_CASE("gate: far from 0 a gate is open or shut") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor g = Tensor::from<float>({1, 1, 2}, {1024, -1024}).to(dtype);
    for (std::int64_t width : {1, 2}) {
      Shape shape = {1, 1, 2 * width};
      Tensor fives = Tensor::full(shape, 5, dtype), expected = Tensor::full(shape, 5);
      for (std::int64_t e = width; e < 2 * width; ++e) expected.data<float>()[e] = 0;
      Gate result(fives, g, fives);
      check_close("y", result.y, expected, 0, 1e-30);
      check_close("do", result.d_o, expected, 0, 1e-30);
      check_close("dgate", result.dgate, Tensor::zeros({1, 1, 2}), 0, 1e-30);
    }
  }
}

TEST_CASE("gate: a NaN stays a NaN") {
  Tensor o = Tensor::from<float>({1, 1, 4}, {NAN, 1, 2, 3}), g = Tensor::from<float>({1, 1, 2}, {1, NAN});
  Tensor y = Tensor::empty({1, 1, 4});
  gate(o, g, y);
  CHECK(std::isnan(y.item(0)));
  CHECK_FALSE(std::isnan(y.item(1)));
  CHECK(std::isnan(y.item(2)));
  CHECK(std::isnan(y.item(3)));
}

TEST_CASE("gate: every backend equals the double reference, for groups of one number to more than a warp has lanes") {
  for (std::int64_t T : {0, 1, 33})
    for (std::int64_t G : {1, 3, 8})
      for (std::int64_t width : {1, 7, 31, 32, 33, 65})
        for (DType dtype : {DType::F32, DType::BF16})
          for (GateFunction f : {GateFunction::logistic, GateFunction::silu}) {
            CAPTURE(T);
            CAPTURE(G);
            CAPTURE(width);
            Shape o{2, T, G * width}, g{2, T, G};
            Tensors given{random_tensor(o, dtype, 1), random_tensor(g, dtype, 2, 3), random_tensor(o, dtype, 3),
                          random_tensor(o, dtype, 4), random_tensor(o, dtype, 5),    random_tensor(g, dtype, 6)};
            auto run = [f](Tensors& t) {
              gate(t[0], t[1], t[3], f);
              gate_backward(t[2], t[0], t[1], t[4], t[5], f);
            };
            check_backends("gate", given, run, 1e-6, 0x1p-8);
          }
}

TEST_CASE("gradient: gate, for every number, every group and the whole row") {
  Var o = random_var({2, 3, 6}, 1);
  for (std::int64_t G : {6, 2, 1}) {
    Var g = random_var({2, 3, G}, 2, 2);
    for (GateFunction f : {GateFunction::logistic, GateFunction::silu})
      check_gradient([&] { return gate(o, g, f); }, {o, g});
  }
  check_gradient([&] { return gate(o, o); }, {o});
}

TEST_CASE("gate: shapes and types that do not fit are named") {
  Tensor o = Tensor::zeros({2, 3, 8}), g = Tensor::zeros({2, 3, 4}), y = Tensor::zeros({2, 3, 8});
  for (const Shape& shape : {Shape{2, 3, 3}, Shape{3, 2, 4}, Shape{2, 3, 16}}) {
    Tensor wrong = Tensor::zeros(shape);
    check_refused([&] { gate(o, wrong, y); }, {"[gate]", "f32 (2, 3, 8)", wrong.str()});
  }
  Tensor g_f64 = g.to(DType::F64), y_short = Tensor::zeros({2, 3, 4});
  check_refused([&] { gate(o, g_f64, y); }, {"[gate]", "f32 (2, 3, 8)", "f64 (2, 3, 4)"});
  check_refused([&] { gate(o, g, y_short); }, {"[gate]", "expected y to be f32 (2, 3, 8)", "f32 (2, 3, 4)"});
  check_refused([&] { gate_backward(y, o, g, y, y); }, {"[gate_backward]", "expected dgate to be f32 (2, 3, 4)"});
}
