// The released code's choices (train/studies/released/released_choices.h) against PyTorch's numbers, finite differences and
// float's limits.
#include "train/studies/released/released_choices.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace sink;
using Approx = doctest::Approx;

TEST_CASE("released choices: elu + 1 in bf16, and its derivative, are PyTorch's") {
  // x, torch.nn.functional.elu(x) + 1 and its gradient for x = torch.tensor(..., dtype=torch.bfloat16)
  const double table[][3] = {{-9.0, 0.0, 0.00012302398681640625},
                             {-6.5, 0.0, 0.00150299072265625},
                             {-6.2, 0.00390625, 0.0020599365234375},
                             {-5.0, 0.0078125, 0.006744384765625},
                             {-3.3, 0.03515625, 0.037109375},
                             {-2.0, 0.13671875, 0.1357421875},
                             {-1.0, 0.3671875, 0.3671875},
                             {-0.7, 0.49609375, 0.49609375},
                             {-0.3, 0.7421875, 0.7421875},
                             {-0.01, 0.98828125, 0.98828125},
                             {-0.001, 1.0, 1.0},
                             {0.0, 1.0, 1.0},
                             {0.001, 1.0, 1.0},
                             {0.004, 1.0078125, 1.0},
                             {0.3, 1.296875, 1.0},
                             {1.0, 2.0, 1.0},
                             {2.7, 3.703125, 1.0},
                             {7.3, 8.3125, 1.0},
                             {30.0, 31.0, 1.0}};
  for (auto [x, value, derivative] : table) {
    CAPTURE(x);
    CHECK(EluInBf16::g(x) == value);
    CHECK(EluInBf16::g(static_cast<float>(x)) == static_cast<float>(value));
    CHECK(EluInBf16::dg(x) == derivative);
    CHECK(EluInBf16::dg(static_cast<float>(x)) == static_cast<float>(derivative));
  }
  CHECK(std::isnan(EluInBf16::g(std::nan(""))));
}

TEST_CASE("released choices: rounded once, elu + 1 does not cancel") {
  for (double x : {-9.0, -6.5, -3.3, -0.3, 0.3, 7.3}) {
    CHECK(EluNormRounded::g(x) == Approx(Elu::g(x)).epsilon(0.03));
    CHECK(EluNormRounded::g(x) > 0);
  }
  CHECK(EluInBf16::g(-6.5) == 0);
}

TEST_CASE("released choices: the signed similarity over a sum that cannot cancel") {
  LinearMaxOfAbs op;
  CHECK(op.r(-3.0) == 3);
  CHECK(op.z(0.5) == 1);
  CHECK(op.z(2.5) == 2.5);
  for (double x : {-2.0, -0.1, 0.4, 3.0})
    CHECK(op.dr(x) == Approx((op.r(x + 1e-6) - op.r(x - 1e-6)) / 2e-6).epsilon(1e-6));
  for (double S : {0.2, 0.9, 1.1, 40.0})
    CHECK(op.dz(S) == Approx((op.z(S + 1e-6) - op.z(S - 1e-6)) / 2e-6).epsilon(1e-6));
}

TEST_CASE("released choices: the p-norm as it is written is PNormExp until float overflows") {
  for (double p : {2.0, 3.0}) {
    PNormExpAsWritten written(p);
    PNormExp shifted(p);
    const double scores[] = {-1.0, 0.5, 2.0}, m = 2.0;
    double S_written = 0, S_shifted = 0;
    for (double s : scores) S_written += written.r(s), S_shifted += shifted.r(s - m);
    for (double s : scores)
      CHECK(written.g(s) / written.z(S_written) == Approx(shifted.g(s - m) / shifted.z(S_shifted)).epsilon(1e-12));
    for (double x : {-1.0, 0.5, 2.0})
      CHECK(written.dr(x) == Approx((written.r(x + 1e-6) - written.r(x - 1e-6)) / 2e-6).epsilon(1e-6));
    CHECK(written.dz(3.0) == Approx((written.z(3.0 + 1e-6) - written.z(3.0 - 1e-6)) / 2e-6).epsilon(1e-6));
    CHECK(std::isfinite(written.r(static_cast<float>(88 / p))));
    CHECK(std::isinf(written.r(static_cast<float>(90 / p))));
  }
}
