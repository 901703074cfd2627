// The Lion update.
#include "engine/ops/optimizer/lion.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
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

TEST_CASE("lion: every backend equals the double reference; the copy is w rounded; a bad step changes no bit") {
  for (std::int64_t n : {0, 1, 7, 256, 1003, 50001})
    for (auto [squared_norm, loss] : {std::pair<double, double>{1, 0}, {64, 0}, {INFINITY, 0}, {1, NAN}}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                    random_tensor({n}, DType::F32, 3), make_step_scalars(0.1, 1)};
      const auto two_steps = [&](Tensors& t) {
        squared_norm_of(t[3]).fill(squared_norm);
        loss_of(t[3]).fill(loss);
        for (int step = 0; step < 2; ++step) {
          Tensor copy = t[1].dtype() == DType::F32 ? t[1].new_zeros({n}, DType::BF16) : Tensor();
          lion(kSettings, t[3], t[0], t[1], t[2], copy);
          if (copy.defined() && std::isfinite(squared_norm + loss))
            check_close("copy", copy.to(Device::cpu), t[1].to(Device::cpu).to(DType::BF16), 0);
        }
      };
      check_backends("lion", given, two_steps, std::isfinite(squared_norm + loss) ? 1e-6 : 0);
    }
}

TEST_CASE("lion: shapes and types that do not fit are named") {
  Tensor w = Tensor::zeros({2, 3}), m = Tensor::zeros({2, 3}), none, copy = Tensor::zeros({2, 3});
  check_refused([&] { lion(kSettings, step_scalars_of(), Tensor::zeros({6}), w, m, none); },
                {"[lion]", "f32 (6)", "f32 (2, 3)"});
  check_refused([&] { lion(kSettings, step_scalars_of(), m, w, m, copy); }, {"[lion]", "a copy in bf16"});
}
