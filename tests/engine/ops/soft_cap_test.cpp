// The soft cap of logits, and its gradient.
#include "engine/ops/soft_cap/soft_cap.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"

using namespace sink;

TEST_CASE("soft cap: by the formula, and its slope by differences") {
  const Tensor x = Tensor::from<double>({5}, {-100, -1, 0, 0.5, 40}), dy = Tensor::from<double>({5}, {1, 2, 3, -1, 5});
  Tensor y = Tensor::empty_like(x), dx = Tensor::empty_like(x);
  soft_cap(x, 30, y);
  soft_cap_backward(dy, y, 30, dx);
  for (std::int64_t n = 0; n < x.size(); ++n) {
    const double at = x.item(n), h = 1e-4;
    auto f = [](double s) { return 30 * std::tanh(s / 30); };
    CHECK(y.item(n) == doctest::Approx(f(at)).epsilon(1e-15));
    CHECK(dx.item(n) == doctest::Approx(dy.item(n) * (f(at + h) - f(at - h)) / (2 * h)).epsilon(1e-7));
  }
}

TEST_CASE("soft cap: every backend equals the double reference, also in place") {
  for (std::int64_t size : {0, 1, 9000})
    for (DType dtype : {DType::F32, DType::BF16}) {
      CAPTURE(size);
      Tensors given{random_tensor({size}, dtype, 1, 60), random_tensor({size}, dtype, 2),
                    random_tensor({size}, dtype, 3), random_tensor({size}, dtype, 4),
                    random_tensor({size}, dtype, 5, 5)};
      check_backends("soft_cap", given, [](Tensors& t) {
        soft_cap(t[0], 30, t[2]);
        soft_cap_backward(t[1], t[4], 30, t[3]);  // near the cap, a slope of rounded y has no digits
      });
      check_backends("soft_cap in place", given, [](Tensors& t) { soft_cap(t[0], 30, t[0]); });
    }
}

TEST_CASE("soft cap: refuses another shape and caps that are not above 0") {
  Tensor x = Tensor::zeros({3}), y = Tensor::zeros({4});
  check_refused([&] { soft_cap(x, 30, y); }, {"[soft_cap]", "f32 (4)"});
  check_refused([&] { soft_cap(x, 0, x); }, {"above 0"});
  check_refused([&] { soft_cap_backward(y, x, 30, x); }, {"[soft_cap_backward]", "f32 (4)"});
}
