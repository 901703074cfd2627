// The Lion update.
#include "engine/ops/optimizer/lion.h"

#include <doctest/doctest.h>

#include "tests/support/step_scalars.h"

using namespace sink;

namespace {

constexpr LionSettings kSettings{.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.5, .clip = 2};

}  // namespace

TEST_CASE("lion: two steps by hand") {
  // Step 1: c = 0.1 * 5 > 0, w = 2 * 0.95 - 0.1 = 1.8, m = 0.05. Step 2: c = 0.045 - 0.02 > 0: the sign of the mean,
  // not of the gradient -0.2; w = 1.8 * 0.95 - 0.1 = 1.61, m = 0.0495 - 0.002 = 0.0475.
  Tensor w = Tensor::full({1}, 2, DType::F64), m = Tensor::zeros({1}, DType::F64), none;
  lion(kSettings, step_scalars_of(), Tensor::full({1}, 5, DType::F64), w, m, none);
  CHECK(w.item() == doctest::Approx(1.8).epsilon(1e-14));
  CHECK(m.item() == doctest::Approx(0.05).epsilon(1e-14));
  lion(kSettings, step_scalars_of(), Tensor::full({1}, -0.2, DType::F64), w, m, none);
  CHECK(w.item() == doctest::Approx(1.61).epsilon(1e-14));
  CHECK(m.item() == doctest::Approx(0.0475).epsilon(1e-14));
}

TEST_CASE("lion: a gradient of zero decays alone, one above `clip` counts for less in the mean") {
  Tensor w = Tensor::full({2}, 2, DType::F64), m = Tensor::zeros({2}, DType::F64), none;
  Tensor dw = Tensor::from<double>({2}, {0, -8});
  lion(kSettings, step_scalars_of(64), dw, w, m, none);
  CHECK(w.item(0) == doctest::Approx(1.9).epsilon(1e-14));
  CHECK(w.item(1) == doctest::Approx(2.0).epsilon(1e-14));
  CHECK(m.item(0) == 0);
  CHECK(m.item(1) == doctest::Approx(-0.01 * 8 * 2 / (8 + 1e-6)).epsilon(1e-12));
}
