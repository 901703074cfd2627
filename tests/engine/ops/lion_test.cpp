// The Lion update.
#include "engine/ops/optimizer/lion.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

constexpr LionSettings kSettings{.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.5, .clip = 2};

Tensor step_scalars_of(double squared_norm = 0, double loss = 0) {
  Tensor step_scalars = make_step_scalars(/*learning_rate=*/0.1, 1);
  squared_norm_of(step_scalars).fill(squared_norm);
  loss_of(step_scalars).fill(loss);
  return step_scalars;
}

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

TEST_CASE("lion: F32 and its copy in BF16, by the reference too; a bad step changes nothing") {
  for (std::int64_t n : {1, 17, 50001})
    for (bool reference : {false, true}) {
      Tensor w = random_tensor({n}, DType::F32, 1), m = random_tensor({n}, DType::F32, 3), none;
      Tensor exact_w = w.to(DType::F64), exact_m = m.to(DType::F64), copy = w.to(DType::BF16);
      Tensor dw = random_tensor({n}, DType::F32, 2);
      auto step = [&](const Tensor& step_scalars) { lion(kSettings, step_scalars, dw, w, m, copy); };
      auto run = [&](const Tensor& step_scalars) {
        reference ? in_reference([&] { step(step_scalars); }) : step(step_scalars);
      };
      run(step_scalars_of(64));
      lion(kSettings, step_scalars_of(64), dw.to(DType::F64), exact_w, exact_m, none);
      check_close("w", w, exact_w, 1e-6);
      check_close("m", m, exact_m, 1e-6);
      check_close("copy", copy, w.to(DType::BF16), 0);
      Tensor kept_w = w.clone(), kept_m = m.clone();
      run(step_scalars_of(INFINITY));
      run(step_scalars_of(1, NAN));
      check_close("kept", w, kept_w, 0);
      check_close("kept", m, kept_m, 0);
    }
}

TEST_CASE("lion: shapes and types that do not fit are named") {
  Tensor w = Tensor::zeros({2, 3}), m = Tensor::zeros({2, 3}), none, copy = Tensor::zeros({2, 3});
  check_refused([&] { lion(kSettings, step_scalars_of(), Tensor::zeros({6}), w, m, none); },
                {"[lion]", "f32 (6)", "f32 (2, 3)"});
  check_refused([&] { lion(kSettings, step_scalars_of(), m, w, m, copy); }, {"[lion]", "a copy in bf16"});
}
