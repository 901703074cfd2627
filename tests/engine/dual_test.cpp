// Dual numbers: each rule against differences, and the derivatives that attention operations write by hand against
// those that the compiler derives from their formulas.
#include "engine/dual.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/ops/attention/op/attention_op_check.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/written_derivatives.h"
#include "tests/support/check_refused.h"

using namespace sink;
using Approx = doctest::Approx;

namespace {

// f' of a function of any number, in double and in float, is what differences of its values in double say.
template <class F>
void check_derivative(const F& f, double from, double to) {
  for (double x = from; x <= to; x += (to - from) / 16) {
    constexpr double h = 1e-5;
    const double differences = (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h);
    CAPTURE(x);
    CHECK(f(Dual<double>(x, 1.0)).value == f(x));
    CHECK(f(Dual<double>(x, 1.0)).slope == Approx(differences).epsilon(1e-8));
    CHECK(f(Dual<float>(static_cast<float>(x), 1.0f)).slope == Approx(differences).epsilon(2e-5));
  }
}

const Constant kThird(1.0 / 3);

struct Inherits : Relu {  // Relu's dg, which is not that of this g
  SINK_HD static auto g(auto x) { return x <= 0 ? 0.0 * x : x * x; }
};
struct WrongSum : DividedBySumOf<Sigmoid> {
  SINK_HD static auto dz(auto S) { return decltype(S)(2); }
};

struct Unwritten : DividedBySum {  // the README's
  SINK_HD static auto g(auto x) { return -log_logistic_fast(-x); }
};
static_assert(attention_op_is_complete<Unwritten>());

}  // namespace

TEST_CASE("dual: the rules of differentiation") {
  check_derivative([](auto x) { return 3 - (x * x - 2 * x) / 4 + 1 / (x + 5); }, -2, 3);
  check_derivative([](auto x) { return x / (x * x + 1) - x * kThird + kThird / (x + 4) - kThird; }, -2, 3);
  check_derivative([](auto x) { return exp_fast(x - 1) / 8; }, -3, 3);
  check_derivative([](auto x) { return logistic_fast(x) * logistic_fast(x); }, -4, 4);
  check_derivative([](auto x) { return log_logistic_fast(x); }, -4, 4);
  check_derivative([](auto x) { return tanh_fast(2 * x); }, -2, 2);
  check_derivative([](auto x) { return erf_fast(x); }, -2, 2);
  check_derivative([](auto x) { return log_fast(x * x + 1); }, -2, 2);
  check_derivative(
      [](auto x) {
        using std::exp, std::log, std::tanh, std::sqrt;
        return exp(log(tanh(sqrt(x))));
      },
      0.5, 3);
  check_derivative(
      [](auto x) {
        using std::pow;
        return pow(x, 2.5) + pow(x, kThird) + pow(2, x) + pow(x, x);
      },
      0.5, 3);
  check_derivative(
      [](auto x) {
        using std::abs, std::copysign;
        return abs(x) * x + copysign(x * x, x);
      },
      0.1, 3);
  check_derivative(
      [](auto x) {
        using std::abs;
        return abs(x) * x;
      },
      -3, -0.1);
  check_derivative([](auto x) { return x < 0 ? 0 : x > 1 ? 1 : x; }, 0.03, 0.9);
}

TEST_CASE("dual: a kink has the derivative of its branch, and NaN stays") {
  auto below = [](auto x) { return x < 0 ? 0 : x; };
  auto at_most = [](auto x) { return x <= 0 ? 0.0 : x; };
  CHECK(below(Dual<double>(0.0, 1.0)).slope == 1);
  CHECK(at_most(Dual<double>(0.0, 1.0)).slope == 0);
  CHECK(abs(Dual<double>(0.0, 1.0)).slope == 0);
  CHECK(std::isnan(at_most(Dual<double>(NAN, 1.0)).value));
  // A constant adds no product that could be infinity times zero.
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK((2 * Dual<double>(infinity, 1.0)).slope == 2);
  CHECK((Dual<double>(infinity, 1.0) / kThird).slope == Approx(3));
}

TEST_CASE("dual: derivatives that operations write by hand are those of their formulas") {
#define SINK_ATTENTION_OP(Op) CHECK_NOTHROW(check_written_derivatives(Op{}));
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  check_refused([] { check_written_derivatives(Inherits{}); },
                {"Inherits has a derivative dg that is not the one of its g", "inherits dg of its base"}, Exit::usage);
  check_refused([] { check_written_derivatives(WrongSum{}); }, {"WrongSum has a derivative dz"}, Exit::usage);
}

TEST_CASE("dual: an operation without a written derivative has that of its formula") {
  for (double x = -4; x <= 4; x += 0.5) {
    AttentionRow<Unwritten, double> row(Unwritten{}, 0, 2);
    CHECK(row.g(x) == Approx(std::log1p(std::exp(x))).epsilon(1e-12));
    CHECK(row.dg(x) == Approx(1 / (1 + std::exp(-x))).epsilon(1e-12));
    CHECK(row.dz() == 1);
  }
}
