// The AdamW update.
#include "engine/ops/optimizer/adamw.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/compare.h"
#include "tests/support/step_scalars.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

constexpr AdamwSettings kSettings{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};

struct Parameter {
  Tensor w, m, v;
  explicit Parameter(const Tensor& w) : w(w), m(Tensor::zeros(w.shape(), w.dtype())), v(m.clone()) {}
  void step(const AdamwSettings& settings, const Tensor& dw, const Tensor& step_scalars) {
    adamw(settings, step_scalars, dw, w, m, v);
  }
  void step(const AdamwSettings& settings, const Tensor& dw, std::int64_t update) {
    step(settings, dw, step_scalars_of(0, 0, update));
  }
};

Tensor number(double value, DType dtype = DType::F64) { return Tensor::full({1}, value, dtype); }

}  // namespace

TEST_CASE("adamw: two steps by hand, as torch.optim.AdamW makes them") {
  // w = 1, gradients 0.5 and -1.
  // Step 1: m = 0.1 * 0.5 = 0.05, m^ = 0.5; v = 0.05 * 0.25 = 0.0125, v^ = 0.25; w = 0.99 - 0.1 * 0.5 / 0.5 = 0.89.
  // Step 2: m = 0.045 - 0.1 = -0.055, m^ = -0.055 / 0.19; v = 0.011875 + 0.05 = 0.061875, v^ = 0.061875 / 0.0975;
  //         w = 0.89 * 0.99 + 0.1 * 0.289473684 / 0.796627508 = 0.917437397.
  Parameter p(number(1));
  p.step(kSettings, number(0.5), 1);
  CHECK(p.w.item() == doctest::Approx(0.890000002).epsilon(1e-11));  // epsilon / 0.5 * 0.1 is the 2e-9
  CHECK(p.m.item() == doctest::Approx(0.05).epsilon(1e-12));
  CHECK(p.v.item() == doctest::Approx(0.0125).epsilon(1e-12));
  p.step(kSettings, number(-1), 2);
  CHECK(p.w.item() == doctest::Approx(0.917437396572).epsilon(1e-11));  // PyTorch 2.15
  CHECK(p.m.item() == doctest::Approx(-0.055).epsilon(1e-12));
  CHECK(p.v.item() == doctest::Approx(0.061875).epsilon(1e-12));
}

TEST_CASE("adamw: F32 equals F64 over several steps") {
  for (std::int64_t n : {1, 17, 50001}) {
    Tensor w = random_tensor({n}, DType::F32, 1);
    Parameter fast(w.clone()), expected(w.to(DType::F64)), reference(w.clone());
    for (std::int64_t step = 1; step <= 5; ++step) {
      Tensor dw = random_tensor({n}, DType::F32, 10 + static_cast<std::uint64_t>(step));
      fast.step(kSettings, dw, step);
      expected.step(kSettings, dw.to(DType::F64), step);
      in_reference([&] { reference.step(kSettings, dw, step); });
      if (step == 1) check_close("reference w", reference.w, expected.w.to(DType::F32), 0);
    }
    check_close("reference w", reference.w, expected.w, 1e-6);
    check_close("reference m", reference.m, expected.m, 1e-6);
    check_close("reference v", reference.v, expected.v, 1e-6);
    check_close("w", fast.w, expected.w, 1e-6);
    check_close("m", fast.m, expected.m, 1e-6);
    check_close("v", fast.v, expected.v, 1e-6);
  }
}

TEST_CASE("adamw: decay is decoupled: it needs no gradient and is not in the moments") {
  Parameter p(number(-2));
  p.step(kSettings, number(0), 1);
  p.step(kSettings, number(0), 2);
  CHECK(p.w.item() == doctest::Approx(-2 * 0.99 * 0.99).epsilon(1e-12));
  CHECK(p.m.item() == 0);
  CHECK(p.v.item() == 0);
}

TEST_CASE("adamw: without decay a first step has the size of the learning rate, whatever the gradient's") {
  AdamwSettings settings = kSettings;
  settings.weight_decay = 0;
  for (double gradient : {-1e4, -1.0, 1e-3, 50.0}) {
    Parameter p(number(3));
    p.step(settings, number(gradient), 1);
    CHECK(p.w.item() == doctest::Approx(3 - std::copysign(0.1, gradient)).epsilon(1e-5));
  }
}

TEST_CASE("adamw: gradients are scaled down to a norm of `clip`, where theirs is above it") {
  Tensor w = random_tensor({100}, DType::F64, 2), dw = random_tensor({100}, DType::F64, 3), scaled = dw.clone();
  for (std::int64_t i = 0; i < 100; ++i) scaled.data<double>()[i] *= 2 / (8 + 1e-6);
  AdamwSettings clipping = kSettings;
  clipping.clip = 2;
  auto check_step = [&](double squared_norm, const Tensor& as_if) {
    Parameter clipped(w.clone()), expected(w.clone());
    clipped.step(clipping, dw, step_scalars_of(squared_norm));
    expected.step(kSettings, as_if, 1);
    check_close("w", clipped.w, expected.w, 1e-14);
    check_close("m", clipped.m, expected.m, 1e-14);
    check_close("v", clipped.v, expected.v, 1e-14);
  };
  check_step(64, scaled);
  check_step(4, dw);
  check_step(3, dw);
}
