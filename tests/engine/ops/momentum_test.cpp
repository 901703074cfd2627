// The running sum of gradients.
#include "engine/ops/optimizer/momentum.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/step_scalars.h"

using namespace sink;

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

TEST_CASE("momentum: every backend equals the double reference; a step with a NaN or an infinity changes no bit") {
  for (std::int64_t n : {0, 1, 7, 256, 1003, 50001})
    for (auto [squared_norm, loss] : {std::pair<double, double>{1, 0}, {64, 0}, {NAN, 0}, {1, INFINITY}}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                    random_tensor({n}, DType::F32, 3), make_step_scalars(0.1, 1)};
      const auto two_steps = [&](Tensors& t) {
        squared_norm_of(t[3]).fill(squared_norm);
        loss_of(t[3]).fill(loss);
        Tensor none;
        momentum({.momentum = 0.9, .clip = 2}, t[3], t[0], t[1], t[2]);
        momentum({.momentum = 0.9, .clip = 2}, t[3], t[0], t[1], none);
      };
      check_backends("momentum", given, two_steps, std::isfinite(squared_norm + loss) ? 1e-6 : 0);
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
