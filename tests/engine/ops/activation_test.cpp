// Elementwise functions, gated units, the soft cap of logits, and their gradients.
#include "engine/ops/activation/activation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

// y = F(x) and dx for the upstream gradient dy, all of one type. x of a gated unit has twice the width of dy.
template <class F>
struct Activation {
  Tensor x, dy, y, dx;

  Activation(const Tensor& x_in, const Tensor& dy_in)
      : x(x_in), dy(dy_in), y(Tensor::empty(dy.shape(), x.dtype())), dx(Tensor::empty(x.shape(), x.dtype())) {
    activation<F>(x, y);
    activation_backward<F>(dy, x, dx);
  }
};

template <class F>
void check_function(const Tensor& x, const Tensor& dy) {
  Tensors given{x, dy, random_tensor(dy.shape(), x.dtype(), 3), random_tensor(x.shape(), x.dtype(), 4)};
  auto run = [](Tensors& t) {
    activation<F>(t[0], t[2]);
    activation_backward<F>(t[1], t[0], t[3]);
  };
  check_backends("activation", given, run, 1e-6, 0x1p-8);
  if (dy.size() == 256 || dy.shape() == Shape{3, 128}) check_unaligned_backends("activation", given, run);
}

}  // namespace

TEST_CASE("activation: far from 0 the functions are x or x + 1, and 0") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor x = Tensor::from<float>({4}, {0x1p70f, 1024, -1024, -0x1p70f}).to(dtype), ones = Tensor::full({4}, 1, dtype);
    Tensor identity = Tensor::from<float>({4}, {0x1p70f, 1024, 0, 0});
    Tensor slope = Tensor::from<float>({4}, {1, 1, 0, 0});
    auto check_function = [&](const char* name, const auto& a) {
      check_close(name, a.y, identity, 0, 1);  // + 1 of elu, which bf16 rounds away
      check_close(name, a.dx, slope, 0, 1e-30);
    };
    check_function("relu", Activation<ReluFunction>(x, ones));
    check_function("gelu", Activation<GeluFunction>(x, ones));
    check_function("silu", Activation<SiluFunction>(x, ones));
    check_function("elu + 1", Activation<EluPlusOneFunction>(x, ones));
  }
}

TEST_CASE("glu: a silu gate of zero shuts, huge gates are the identity and zero") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor gate_up = Tensor::from<float>({4, 2}, {0, 5, 1024, 5, -1024, 5, -100, 5}).to(dtype);
    Activation<Glu<SiluFunction>> u(gate_up, Tensor::full({4, 1}, 1, dtype));
    check_close("y", u.y, Tensor::from<float>({4, 1}, {0, 5120, 0, 0}), 0, 1e-30);
    // dgate = up l (1 + gate (1 - l)): up/2 at 0, up at +oo, 0 at -oo. dup = silu(gate).
    check_close("dgate_up", u.dx, Tensor::from<float>({4, 2}, {2.5, 0, 5, 1024, 0, 0, 0, 0}), 0, 1e-30);
  }
}

TEST_CASE_TEMPLATE("activation: a NaN stays a NaN", F, ReluFunction, ReluSquaredFunction, GeluFunction,
                   GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor x = Tensor::full({40}, NAN, dtype), y = Tensor::empty({40}, dtype);
    activation<F>(x, y);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(std::isnan(y.item(i)));
  }
  Tensor gate_up = Tensor::from<float>({1, 4}, {NAN, 1, 2, NAN}), y = Tensor::empty({1, 2});
  activation<Glu<F>>(gate_up, y);
  CHECK(std::isnan(y.item(0)));
  CHECK(std::isnan(y.item(1)));
}

TEST_CASE_TEMPLATE("activation: every backend equals the double reference", F, ReluFunction, ReluSquaredFunction,
                   GeluFunction, GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (Shape shape :
         {Shape{1}, Shape{7}, Shape{3, 11}, Shape{65}, Shape{256}, Shape{2, 5, 130}, Shape{20000}, Shape{0}}) {
      CAPTURE(shape.str());
      double scale = shape.size() == 1 ? 1 : 3;  // keeps the only element from where 1 + erf(x) cancels
      check_function<F>(random_tensor(shape, dtype, 1, scale), random_tensor(shape, dtype, 2));
    }
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t rows : {0, 1, 3, 65})
      for (std::int64_t width : {1, 7, 33, 128}) {
        CAPTURE(rows);
        CAPTURE(width);
        double scale = rows * width == 1 ? 1 : 3;
        check_function<Glu<F>>(random_tensor({rows, 2 * width}, dtype, 1, scale),
                               random_tensor({rows, width}, dtype, 2));
      }
}

TEST_CASE_TEMPLATE("activation: every backend far from 0 and at NaN", F, ReluFunction, GeluFunction, GeluTanhFunction,
                   SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensor x = Tensor::from<float>({6}, {NAN, 1024, -1024, 0x1p70f, -0x1p70f, 0}).to(dtype);
    check_function<F>(x, Tensor::full({6}, 1, dtype));
  }
}

TEST_CASE_TEMPLATE("gradient: activation", F, ReluFunction, ReluSquaredFunction, GeluFunction, GeluTanhFunction,
                   SiluFunction, EluPlusOneFunction) {
  // Every x is further from the kink of a function at 0 than the differences reach.
  Var x = random_var({2, 3, 10}, 1, 2);
  for (std::int64_t i = 0; i < x.value().size(); ++i) REQUIRE(std::abs(x.value().item(i)) > 2e-3);
  check_gradient([&] { return activate<F>(x); }, {x});
  check_gradient([&] { return activate<Glu<F>>(x); }, {x});
  check_gradient([&] { return add(activate<F>(x), x); }, {x});
}

TEST_CASE("activation: shapes and types that do not fit are named") {
  Tensor x = Tensor::zeros({3, 8}), short_y = Tensor::zeros({3, 7}), y_f64 = Tensor::zeros({3, 8}, DType::F64);
  check_refused([&] { activation<ReluFunction>(x, short_y); }, {"[activation]", "f32 (3, 8)", "f32 (3, 7)"});
  check_refused([&] { activation<ReluFunction>(x, y_f64); }, {"[activation]", "f32 (3, 8)", "f64 (3, 8)"});
  check_refused([&] { activation_backward<ReluFunction>(short_y, x, x); },
                {"[activation_backward]", "expected dy", "f32 (3, 7)"});
  check_refused([&] { activation_backward<ReluFunction>(x, x, y_f64); },
                {"[activation_backward]", "expected dx", "f64 (3, 8)"});
}

TEST_CASE("glu: shapes and types that do not fit are named") {
  Tensor gate_up = Tensor::zeros({3, 8}), y = Tensor::zeros({3, 5}), y_f64 = Tensor::zeros({3, 4}, DType::F64);
  check_refused([&] { activation<Glu<SiluFunction>>(gate_up, y); }, {"[activation]", "f32 (3, 8)", "f32 (3, 5)"});
  check_refused([&] { activation<Glu<SiluFunction>>(gate_up, y_f64); }, {"[activation]", "f32 (3, 8)", "f64 (3, 4)"});
  check_refused([&] { activation_backward<Glu<SiluFunction>>(y, gate_up, gate_up); },
                {"[activation_backward]", "f32 (3, 8)", "dy is f32 (3, 5)"});
  Tensor dy = Tensor::zeros({3, 4}), dgate_up = Tensor::zeros({3, 7});
  check_refused([&] { activation_backward<Glu<SiluFunction>>(dy, gate_up, dgate_up); },
                {"[activation_backward]", "f32 (3, 8)", "f32 (3, 7)"});
}

TEST_CASE("glu: leading axes must agree too") {
  Tensor gate_up = Tensor::zeros({4, 3, 8}), y = Tensor::zeros({3, 4, 4});
  check_refused([&] { activation<Glu<SiluFunction>>(gate_up, y); }, {"[activation]", "f32 (4, 3, 8)", "f32 (3, 4, 4)"});
}

TEST_CASE("activation: soft cap: by the formula, and its slope by differences") {
  const Tensor x = Tensor::from<double>({5}, {-100, -1, 0, 0.5, 40}), dy = Tensor::from<double>({5}, {1, 2, 3, -1, 5});
  Tensor y = Tensor::empty_like(x), dx = Tensor::empty_like(x);
  activation(x, y, SoftCap{30});
  activation_backward(dy, y, dx, SoftCap{30});
  for (std::int64_t n = 0; n < x.size(); ++n) {
    const double at = x.item(n), h = 1e-4;
    auto f = [](double s) { return 30 * std::tanh(s / 30); };
    CHECK(y.item(n) == doctest::Approx(f(at)).epsilon(1e-15));
    CHECK(dx.item(n) == doctest::Approx(dy.item(n) * (f(at + h) - f(at - h)) / (2 * h)).epsilon(1e-7));
  }
}

TEST_CASE("activation: soft cap: every backend equals the double reference, also in place") {
  for (std::int64_t size : {0, 1, 9000})
    for (DType dtype : {DType::F32, DType::BF16}) {
      CAPTURE(size);
      Tensors given{random_tensor({size}, dtype, 1, 60), random_tensor({size}, dtype, 2),
                    random_tensor({size}, dtype, 3), random_tensor({size}, dtype, 4),
                    random_tensor({size}, dtype, 5, 5)};
      check_backends("soft cap", given, [](Tensors& t) {
        activation(t[0], t[2], SoftCap{30});
        activation_backward(t[1], t[4], t[3], SoftCap{30});  // near the cap, a slope of rounded y has no digits
      });
      check_backends("soft cap in place", given, [](Tensors& t) { activation(t[0], t[0], SoftCap{30}); });
    }
}

TEST_CASE("activation: soft cap: refuses another shape and caps that are not above 0") {
  Tensor x = Tensor::zeros({3}), y = Tensor::zeros({4});
  check_refused([&] { activation(x, y, SoftCap{30}); }, {"[activation]", "f32 (4)"});
  check_refused([&] { activation(x, x, SoftCap{0}); }, {"above 0"});
  check_refused([&] { activation_backward(y, x, x, SoftCap{30}); }, {"[activation_backward]", "f32 (4)"});
}
