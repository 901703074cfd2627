// A step of the weights along a given direction.
#include "engine/ops/optimizer/weight_step.h"

#include <doctest/doctest.h>

#include "tests/support/step_scalars.h"

using namespace sink;

namespace {

double stepped(const WeightStepSettings& settings, double u, double w) {
  Tensor w_1 = Tensor::full({1}, w, DType::F64), no_copy;
  weight_step(settings, step_scalars_of(), Tensor::full({1}, u, DType::F64), w_1, no_copy);
  return w_1.item();
}

}  // namespace

TEST_CASE("weight_step: by hand, with a rate of 0.1") {
  CHECK(stepped({.weight_decay = 0}, 3, 2) == doctest::Approx(1.7).epsilon(1e-14));
  CHECK(stepped({.weight_decay = 0.5}, 3, 2) == doctest::Approx(2 * 0.95 - 0.3).epsilon(1e-14));
  CHECK(stepped({.weight_decay = 0.5, .scale = 4}, 3, 2) == doctest::Approx(1.9 - 1.2).epsilon(1e-14));
  CHECK(stepped({.weight_decay = 0.5, .scale = -1, .by_learning_rate = false}, 3, 2) ==
        doctest::Approx(1.9 + 3).epsilon(1e-14));
}
