// The running sum of gradients.
#include "engine/ops/optimizer/momentum.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

Tensor step_scalars_of(double squared_norm = 0, double loss = 0) {
  Tensor step_scalars = make_step_scalars(/*learning_rate=*/0.1, 1);
  squared_norm_of(step_scalars).fill(squared_norm);
  loss_of(step_scalars).fill(loss);
  return step_scalars;
}

}  // namespace

TEST_CASE("momentum: a constant gradient sums to g (1 - mu^n) / (1 - mu), and u looks one step ahead") {
  Tensor g = random_tensor({40}, DType::F64, 1), m = Tensor::zeros({40}, DType::F64), u = m.clone(), none;
  for (int n = 1; n <= 6; ++n) {
    momentum({.momentum = 0.9}, step_scalars_of(), g, m, n % 2 == 0 ? none : u);
    for (std::int64_t i = 0; i < 40; ++i) {
      CHECK(m.item(i) == doctest::Approx(g.item(i) * (1 - std::pow(0.9, n)) / 0.1).epsilon(1e-12));
      if (n % 2 == 1) CHECK(u.item(i) == doctest::Approx(g.item(i) * (1 - std::pow(0.9, n + 1)) / 0.1).epsilon(1e-12));
    }
  }
}

TEST_CASE("momentum: gradients are scaled down to a norm of `clip`, where theirs is above it") {
  Tensor g = Tensor::full({1}, 3, DType::F64), m = Tensor::zeros({1}, DType::F64), u = m.clone();
  momentum({.momentum = 0.5, .clip = 2}, step_scalars_of(64), g, m, u);
  CHECK(m.item() == doctest::Approx(3 * 2 / (8 + 1e-6)).epsilon(1e-14));
  CHECK(u.item() == doctest::Approx(1.5 * 3 * 2 / (8 + 1e-6)).epsilon(1e-14));
}

TEST_CASE("momentum: F32 equals F64, by the reference too; no number of a bad step is kept") {
  for (std::int64_t n : {1, 17, 50001})
    for (bool reference : {false, true}) {
      Tensor m = random_tensor({n}, DType::F32, 1), u = m.clone(), exact_m = m.to(DType::F64),
             exact_u = exact_m.clone();
      Tensor g = random_tensor({n}, DType::F32, 2);
      auto step = [&](const Tensor& step_scalars) { momentum({.momentum = 0.9, .clip = 2}, step_scalars, g, m, u); };
      auto run = [&](const Tensor& step_scalars) {
        reference ? in_reference([&] { step(step_scalars); }) : step(step_scalars);
      };
      run(step_scalars_of(64));
      momentum({.momentum = 0.9, .clip = 2}, step_scalars_of(64), g.to(DType::F64), exact_m, exact_u);
      check_close("m", m, exact_m, 1e-6);
      check_close("u", u, exact_u, 1e-6);
      Tensor kept = m.clone();
      run(step_scalars_of(NAN));
      run(step_scalars_of(1, INFINITY));
      check_close("kept", m, kept, 0);
    }
}

TEST_CASE("momentum: shapes and types that do not fit are named") {
  Tensor m = Tensor::zeros({2, 3}), none;
  check_refused(
      [&] {
        momentum({.momentum = 0.9}, step_scalars_of(), Tensor::zeros({3, 2}), m, none);
      },
      {"[momentum]", "f32 (3, 2)", "f32 (2, 3)"});
  check_refused([&] { momentum({.momentum = 0.9}, Tensor::zeros({4}), m, m, none); }, {"[momentum]", "f64 (4)"});
}
