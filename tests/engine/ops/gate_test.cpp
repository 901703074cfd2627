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

TEST_CASE("gate: equals o * sigmoid(g) of PyTorch, a gate for each number and for each pair") {
  // PyTorch 2.15 in double: (o.view(1, 2, G, 4 // G) * torch.sigmoid(g)[..., None]).reshape(1, 2, 4) and its autograd.
  Tensor o = Tensor::from<double>({1, 2, 4}, {1, -2, 0.5, 3, 2, 0.25, -1, -4});
  Tensor dy = Tensor::from<double>({1, 2, 4}, {1, -1, 0.5, 2, -0.5, 3, 1, 0.25});
  Tensor g_numbers = Tensor::from<double>({1, 2, 4}, {0.5, -1, 2, 0, -3, 1, 0.25, -0.5});
  Tensor g_pairs = Tensor::from<double>({1, 2, 2}, {0.5, -1, -3, 1});
  for (DType dtype : {DType::F64, DType::F32}) {
    double tolerance = dtype == DType::F64 ? 1e-15 : 2e-7;
    Gate numbers(o.to(dtype), g_numbers.to(dtype), dy.to(dtype));
    check_close("y", numbers.y,
                Tensor::from<double>(
                    {1, 2, 4}, {0.6224593312018546, -0.5378828427399902, 0.44039853898894116, 1.5, 0.09485174635513356,
                                0.18276464465750122, -0.5621765008857981, -1.5101626751925816}),
                tolerance);
    check_close("do", numbers.d_o,
                Tensor::from<double>(
                    {1, 2, 4}, {0.6224593312018546, -0.2689414213699951, 0.44039853898894116, 1, -0.02371293658878339,
                                2.193175735890015, 0.5621765008857981, 0.09438516719953635}),
                tolerance);
    check_close("dgate", numbers.dgate,
                Tensor::from<double>(
                    {1, 2, 4}, {0.2350037122015945, 0.3932238664829637, 0.026248396350876654, 1.5, -0.04517665973091214,
                                0.1474589499311114, -0.24613408273759835, -0.2350037122015945}),
                tolerance);
    Gate pairs(o.to(dtype), g_pairs.to(dtype), dy.to(dtype));
    check_close("y", pairs.y,
                Tensor::from<double>(
                    {1, 2, 4}, {0.6224593312018546, -1.2449186624037092, 0.13447071068499755, 0.8068242641099853,
                                0.09485174635513356, 0.011856468294391695, -0.7310585786300049, -2.9242343145200196}),
                tolerance);
    check_close("do", pairs.d_o,
                Tensor::from<double>(
                    {1, 2, 4}, {0.6224593312018546, -0.6224593312018546, 0.13447071068499755, 0.5378828427399902,
                                -0.02371293658878339, 0.14227761953270035, 0.7310585786300049, 0.18276464465750122}),
                tolerance);
    check_close("dgate", pairs.dgate,
                Tensor::from<double>(
                    {1, 2, 2}, {0.7050111366047834, 1.2288245827592617, -0.011294164932728034, -0.3932238664829637}),
                tolerance);
  }
}

TEST_CASE("gate: equals o * silu(g) of PyTorch, a gate for each number and for each pair") {
  // As above, with torch.nn.functional.silu.
  Tensor o = Tensor::from<double>({1, 2, 4}, {1, -2, 0.5, 3, 2, 0.25, -1, -4});
  Tensor dy = Tensor::from<double>({1, 2, 4}, {1, -1, 0.5, 2, -0.5, 3, 1, 0.25});
  Tensor g_numbers = Tensor::from<double>({1, 2, 4}, {0.5, -1, 2, 0, -3, 1, 0.25, -0.5});
  Tensor g_pairs = Tensor::from<double>({1, 2, 2}, {0.5, -1, -3, 1});
  const auto check = [](const char* name, const Tensor& value, const Shape& shape,
                        const std::vector<double>& expected) {
    check_close(name, value, Tensor::from<double>(shape, expected), value.dtype() == DType::F64 ? 2e-15 : 3e-7, 1e-30);
  };
  for (DType dtype : {DType::F64, DType::F32}) {
    const Gate numbers(o.to(dtype), g_numbers.to(dtype), dy.to(dtype), GateFunction::silu);
    check("y", numbers.y, {1, 2, 4},
          {0.3112296656009273, 0.5378828427399902, 0.8807970779778823, 0, -0.2845552390654007, 0.18276464465750122,
           -0.14054412522144952, 0.7550813375962908});
    check("do", numbers.d_o, {1, 2, 4},
          {0.3112296656009273, 0.2689414213699951, 0.8807970779778823, 0, 0.07113880976635018, 2.193175735890015,
           0.14054412522144952, -0.047192583599768176});
    check("dgate", numbers.dgate, {1, 2, 4},
          {0.7399611873026519, 0.1446589762570265, 0.2726960621962239, 3, 0.08810410601516962, 0.6957528839036151,
           -0.6237100215701977, -0.2600388126973482});
    const Gate pairs(o.to(dtype), g_pairs.to(dtype), dy.to(dtype), GateFunction::silu);
    check("y", pairs.y, {1, 2, 4},
          {0.3112296656009273, -0.6224593312018546, -0.13447071068499755, -0.8068242641099853, -0.2845552390654007,
           -0.03556940488317509, -0.7310585786300049, -2.9242343145200196});
    check("do", pairs.d_o, {1, 2, 4},
          {0.3112296656009273, -0.3112296656009273, -0.13447071068499755, -0.5378828427399902, 0.07113880976635018,
           -0.42683285859810105, 0.7310585786300049, 0.18276464465750122});
    check("dgate", pairs.dgate, {1, 2, 2},
          {2.2198835619079555, 0.45205930080320783, 0.022026026503792404, -1.8553410237429737});
  }
}

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
