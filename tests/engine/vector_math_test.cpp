// The short formulas of vector_math.h against the library's functions.
#include "engine/vector_math.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/keep_worst.h"

using namespace sink;

TEST_CASE("vector math: exp, logistic and log are near the library's functions") {
  double worst_exp = 0, worst_logistic = 0, worst_log = 0;
  for (double x = -86.9; x < 88.7; x += 0.00137) {
    float y = static_cast<float>(x);
    double exact = std::exp(static_cast<double>(y));
    keep_worst(worst_exp, std::abs(exp_fast(y) - exact) / exact);
    double logistic = 1 / (1 + std::exp(-static_cast<double>(y)));
    keep_worst(worst_logistic, std::abs(logistic_fast(y) - logistic) / logistic);
    float z = exp_fast(y);
    keep_worst(worst_log, std::abs(log_fast(z) - std::log(static_cast<double>(z))));
  }
  CHECK(worst_exp < 3e-7);
  CHECK(worst_logistic < 4e-7);
  CHECK(worst_log < 1e-5);
  CHECK(exp_fast(0.0f) == 1.0f);
  CHECK(exp_fast(-100.0f) == 0.0f);
  CHECK(exp_fast(-INFINITY) == 0.0f);
  CHECK(exp_fast(100.0f) == INFINITY);
  CHECK(logistic_fast(1e4f) == 1.0f);
  CHECK(logistic_fast(-1e4f) == 0.0f);
  CHECK(0.0f * log_fast(0.0f) == 0.0f);
  CHECK(std::isnan(exp_fast(NAN)));
  CHECK(std::isnan(logistic_fast(NAN)));
}

TEST_CASE("vector math: the logarithm of logistic keeps its digits at both ends") {
  for (double x = -200; x < 17; x += 0.0137) {
    float y = static_cast<float>(x);
    double exact = static_cast<double>(y) < 0 ? y - std::log1p(std::exp(static_cast<double>(y)))
                                              : -std::log1p(std::exp(-static_cast<double>(y)));
    CHECK(std::abs(log_logistic_fast(y) - exact) < 3e-7 * std::max(1.0, std::abs(exact)));
    CHECK(log_logistic_fast(static_cast<double>(y)) == doctest::Approx(exact).epsilon(1e-14));
  }
  CHECK(log_logistic_fast(-1e4f) == -1e4f);
  CHECK(std::abs(log_logistic_fast(1e4f)) < 1e-6f);
  CHECK(std::isnan(log_logistic_fast(NAN)));
}

TEST_CASE("vector math: tanh is odd, with relative error below 3e-7") {
  double worst = 0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x42c80000u; bits += 997) {  // the normal floats up to 100
    float x = std::bit_cast<float>(bits);
    double exact = std::tanh(static_cast<double>(x));
    keep_worst(worst, std::abs(tanh_fast(x) - exact) / exact);
    if (tanh_fast(-x) != -tanh_fast(x)) FAIL("not odd at " << x);
  }
  CHECK(worst < 3e-7);
  CHECK(tanh_fast(0.0f) == 0.0f);
  CHECK(tanh_fast(INFINITY) == 1.0f);
  CHECK(std::isnan(tanh_fast(NAN)));
  CHECK(tanh_fast(0.3) == std::tanh(0.3));
}

TEST_CASE("vector math: erf is odd, with absolute error below 8e-8 and relative below 1e-7") {
  double worst = 0, worst_relative = 0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x41200000u; bits += 997) {  // the normal floats up to 10
    float x = std::bit_cast<float>(bits);
    double exact = std::erf(static_cast<double>(x)), error = std::abs(erf_fast(x) - exact);
    keep_worst(worst, error);
    keep_worst(worst_relative, error / exact);
    if (erf_fast(-x) != -erf_fast(x)) FAIL("not odd at " << x);
  }
  CHECK(worst < 8e-8);
  CHECK(worst_relative < 1e-7);
  CHECK(erf_fast(0.0f) == 0.0f);
  CHECK(erf_fast(INFINITY) == 1.0f);
  CHECK(erf_fast(-INFINITY) == -1.0f);
  CHECK(erf_fast(3e38f) == 1.0f);
  CHECK(std::isnan(erf_fast(NAN)));
}
