// A step of the weights along a given direction.
#include "engine/ops/optimizer/weight_step.h"

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

TEST_CASE("weight_step: F32 and its copy in BF16, by the reference too; a bad step changes nothing") {
  for (std::int64_t n : {1, 17, 50001})
    for (bool reference : {false, true}) {
      Tensor w = random_tensor({n}, DType::F32, 1), exact = w.to(DType::F64), none, copy = w.to(DType::BF16);
      Tensor u = random_tensor({n}, DType::F32, 2);
      WeightStepSettings settings{.weight_decay = 0.5, .scale = 3};
      auto step = [&](const Tensor& step_scalars) { weight_step(settings, step_scalars, u, w, copy); };
      auto run = [&](const Tensor& step_scalars) {
        reference ? in_reference([&] { step(step_scalars); }) : step(step_scalars);
      };
      run(step_scalars_of());
      weight_step(settings, step_scalars_of(), u.to(DType::F64), exact, none);
      check_close("w", w, exact, 1e-6);
      check_close("copy", copy, w.to(DType::BF16), 0);
      Tensor kept = w.clone();
      run(step_scalars_of(INFINITY));
      run(step_scalars_of(1, NAN));
      check_close("kept", w, kept, 0);
    }
}

TEST_CASE("weight_step: shapes and types that do not fit are named") {
  Tensor w = Tensor::zeros({2, 3}), none, copy = Tensor::zeros({3, 2}, DType::BF16);
  check_refused([&] { weight_step({.weight_decay = 0}, step_scalars_of(), Tensor::zeros({6}), w, none); },
                {"[weight_step]", "f32 (6)", "f32 (2, 3)"});
  check_refused([&] { weight_step({.weight_decay = 0}, step_scalars_of(), w, w, copy); },
                {"[weight_step]", "a copy in bf16", "bf16 (3, 2)"});
}
