// The AdamW update.
#include "engine/ops/optimizer/adamw.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
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

// Four steps with two gradients in turn, on slices that start at element `first`. F32 weights have a copy in BF16.
void check_adamw(std::int64_t n, std::int64_t first, double squared_norm) {
  auto random = [&](std::uint64_t seed) { return random_tensor({n + first}, DType::F32, seed); };
  Tensors given{random(1),
                random(2),
                random(3),
                Tensor::zeros({n + first}),
                Tensor::zeros({n + first}),
                make_step_scalars(0.1, 1)};
  check_backends("adamw", given, [&](Tensors& t) {
    const AdamwSettings settings{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .clip = 2};
    Tensor& step_scalars = t[5];
    squared_norm_of(step_scalars).fill(squared_norm);
    for (std::int64_t update = 1; update <= 4; ++update) {
      step_scalars.rows(3, 4).fill(static_cast<double>(update));
      auto slice = [&](std::size_t which) { return t[which].slice(first, {n}); };
      Tensor dw = slice(static_cast<std::size_t>(update % 2)), w = slice(2), m = slice(3), v = slice(4);
      if (w.dtype() == DType::F64) {
        adamw(settings, step_scalars, dw, w, m, v);
        continue;
      }
      Tensor copy = w.new_zeros({n + first}, DType::BF16).slice(first, {n});
      adamw(settings, step_scalars, dw, w, m, v, copy);
      check_close("copy", copy.to(Device::cpu), w.to(Device::cpu).to(DType::BF16), 0);
    }
  });
}

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

TEST_CASE("adamw: a loss or a norm that is NaN or infinite leaves every bit as it is") {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (DType dtype : {DType::F32, DType::F64})
    for (auto [squared_norm, loss] : std::vector<std::pair<double, double>>{{nan, 1}, {inf, 1}, {1, nan}, {1, -inf}}) {
      Tensor dw = Tensor::full({70}, nan, dtype);
      Parameter p(random_tensor({70}, dtype, 1));
      p.step(kSettings, random_tensor({70}, dtype, 2), 1);
      Tensor w = p.w.clone(), m = p.m.clone(), v = p.v.clone();
      auto check_kept = [&] {
        check_close("w", p.w, w, 0);
        check_close("m", p.m, m, 0);
        check_close("v", p.v, v, 0);
      };
      p.step(kSettings, dw, step_scalars_of(squared_norm, loss, 2));
      check_kept();
      in_reference([&] { p.step(kSettings, dw, step_scalars_of(squared_norm, loss, 2)); });
      check_kept();
    }
}

TEST_CASE("adamw: a copy in BF16 is w rounded, by the reference too, and stays where nothing is updated") {
  for (std::int64_t n : {1, 17, 50001})
    for (bool reference : {false, true}) {
      Parameter p(random_tensor({n}, DType::F32, 1));
      Tensor dw = random_tensor({n}, DType::F32, 2), copy = Tensor::zeros({n}, DType::BF16);
      auto step = [&](const Tensor& step_scalars) {
        auto update = [&] { adamw(kSettings, step_scalars, dw, p.w, p.m, p.v, copy); };
        reference ? in_reference(update) : update();
        return p.w.to(DType::BF16);
      };
      Tensor rounded = step(step_scalars_of());
      check_close("copy", copy, rounded, 0);
      step(step_scalars_of(std::numeric_limits<double>::infinity(), 0, 2));
      check_close("kept copy", copy, rounded, 0);
    }
}

TEST_CASE("adamw: every backend equals the double reference over several steps, with and without clipping") {
  for (std::int64_t n : {0, 1, 7, 65, 256, 1003, 1100})
    for (std::int64_t first : {0, 1, 8})
      for (double squared_norm : {1.0, 4.0, 64.0}) {
        CAPTURE(n);
        CAPTURE(first);
        CAPTURE(squared_norm);
        check_adamw(n, first, squared_norm);
      }
}

TEST_CASE("adamw: a loss or a norm that is NaN or infinite changes no bit on any device, nor of the copy") {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (Device device : kDevices)
    for (std::int64_t n : {7, 256})
      for (auto [squared_norm, loss] :
           std::vector<std::pair<double, double>>{{nan, 1}, {inf, 1}, {1, nan}, {1, -inf}}) {
        Tensors before{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                       random_tensor({n}, DType::F32, 3)};
        before.push_back(before[0].to(DType::BF16));  // the copy
        Tensors after;
        for (const Tensor& x : before) after.push_back(x.clone().to(device));
        adamw(kSettings, step_scalars_of(squared_norm, loss, 3).to(device), Tensor::full({n}, nan, DType::F32, device),
              after[0], after[1], after[2], after[3]);
        for (std::size_t i = 0; i < 4; ++i) check_close("kept", after[i].to(Device::cpu), before[i], 0);
      }
}

TEST_CASE("adamw: shapes and types that do not fit are named") {
  Parameter p(Tensor::zeros({2, 3}));
  check_refused([&] { p.step(kSettings, Tensor::zeros({3, 2}), 1); }, {"[adamw]", "f32 (2, 3)", "f32 (3, 2)"});
  check_refused(
      [&] {
        p.step(kSettings, Tensor::zeros({2, 3}, DType::F64), 1);
      },
      {"[adamw]", "f32 (2, 3)", "f64 (2, 3)"});
  check_refused(
      [&] {
        p.step(kSettings, Tensor::zeros({2, 3}), Tensor::zeros({4}));
      },
      {"[adamw]", "f64 (4)", "f32 (4)"});
  Parameter half(Tensor::zeros({4}, DType::BF16));
  check_refused([&] { half.step(kSettings, Tensor::zeros({4}, DType::BF16), 1); }, {"[adamw]", "bf16 (4)"});
  auto step_with_copy = [&](Tensor copy) {
    adamw(kSettings, step_scalars_of(), Tensor::zeros({2, 3}), p.w, p.m, p.v, copy);
  };
  check_refused([&] { step_with_copy(Tensor::zeros({2, 3})); }, {"[adamw]", "a copy in bf16", "got f32 (2, 3)"});
  check_refused([&] { step_with_copy(Tensor::zeros({3, 2}, DType::BF16)); }, {"[adamw]", "got bf16 (3, 2)"});
}
