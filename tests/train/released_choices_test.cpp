// The released code's choices (train/studies/released/released_choices.h) compared with PyTorch's results, finite
// differences and the limits of float.
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

TEST_CASE("released choices: each of the ablations keeps the contracts of its policies") {
  using namespace sink::ablations;
  static_assert(contracts_hold<op_elu_norm_bf16>() && contracts_hold<op_elu_norm_rounded>());
  static_assert(contracts_hold<op_elu_norm_floor>() && contracts_hold<op_elu_none_bf16>());
  static_assert(contracts_hold<kern_id_norm_abs>() && contracts_hold<pnorm_exp_2_written>());
  static_assert(contracts_hold<pnorm_exp_3_written>() && contracts_hold<pnorm_exp_4_written>());
  static_assert(contracts_hold<pos_rotary_bf16>() && contracts_hold<op_elu_norm_table>());
  static_assert(contracts_hold<kern_elu_none_table>() && contracts_hold<kern_id_norm_table>());
}

TEST_CASE("released choices: the table of rotary positions is rounded to bf16, and nothing else is") {
  const Sizes sizes{.layers = 1, .heads = 1, .width = 8, .feed_forward = 8, .context = 6, .vocabulary = 11};
  ParameterFactory make(sizes, 0, InitScheme::torch, 1, DType::F64);
  // Of a pair (1, 0) rotation makes (cos, sin).
  const std::int64_t T = 6, D = 8;
  std::vector<double> pairs;
  for (std::int64_t t = 0; t < T; ++t) pairs.insert(pairs.end(), {1, 1, 1, 1, 0, 0, 0, 0});
  const Var x_BHTD(Tensor::from<double>({1, 1, T, D}, pairs));
  const Tensor y_BHTD = RotaryInBf16(make).rotate(x_BHTD, ForwardContext()).value();
  const Tensor exact_BHTD = Rotary(make).rotate(x_BHTD, ForwardContext()).value();
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t d = 0; d < D; ++d) {
      const double angle = static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(d % 4) / 4.0);
      const double value = d < 4 ? std::cos(angle) : std::sin(angle);
      CHECK(y_BHTD.data<double>()[t * D + d] == in_bf16(value));
      CHECK(exact_BHTD.data<double>()[t * D + d] == Approx(value).epsilon(1e-12));
    }
}
