// A step of the weights along a given direction.
#include "engine/ops/optimizer/weight_step.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
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

TEST_CASE("weight_step: every backend equals the double reference; the copy is w rounded; a bad step changes no bit") {
  for (std::int64_t n : {0, 1, 7, 256, 1003, 50001})
    for (bool by_learning_rate : {true, false})
      for (auto [squared_norm, loss] : {std::pair<double, double>{0, 1}, {0, NAN}, {INFINITY, 0}}) {
        CAPTURE(n);
        WeightStepSettings settings{.weight_decay = 0.5, .scale = 3, .by_learning_rate = by_learning_rate};
        Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2), make_step_scalars(0.1, 1)};
        const auto step = [&](Tensors& t) {
          squared_norm_of(t[2]).fill(squared_norm);
          loss_of(t[2]).fill(loss);
          Tensor copy = t[1].dtype() == DType::F32 ? t[1].new_zeros({n}, DType::BF16) : Tensor();
          weight_step(settings, t[2], t[0], t[1], copy);
          if (copy.defined() && std::isfinite(squared_norm + loss))
            check_close("copy", copy.to(Device::cpu), t[1].to(Device::cpu).to(DType::BF16), 0);
        };
        check_backends("weight_step", given, step, std::isfinite(squared_norm + loss) ? 1e-6 : 0);
      }
}

TEST_CASE("weight_step: shapes and types that do not fit are named") {
  Tensor w = Tensor::zeros({2, 3}), none, copy = Tensor::zeros({3, 2}, DType::BF16);
  check_refused([&] { weight_step({.weight_decay = 0}, step_scalars_of(), Tensor::zeros({6}), w, none); },
                {"[weight_step]", "f32 (6)", "f32 (2, 3)"});
  check_refused([&] { weight_step({.weight_decay = 0}, step_scalars_of(), w, w, copy); },
                {"[weight_step]", "a copy in bf16", "bf16 (3, 2)"});
}
