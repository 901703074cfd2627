// The running sum of gradients.
#include "engine/ops/optimizer/momentum.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/compare.h"
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
