// The functions of feed-forward layers and feature maps, each with its derivative.
//
// To add one: write its struct below and its name in SINK_ACTIVATION_FUNCTIONS. R is double in ref:: and float in
// cpu::, where the compiler makes vector code of these functions: write them without branches (a ?: is fine), with the
// functions of engine/vector_math.h, and a ?: so that a NaN passes.
#pragma once

#include <concepts>

#include "engine/vector_math.h"

namespace sink {

struct ReluFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return x < R(0) ? R(0) : x;
  }
  template <class R>
  SINK_HD static R df(R x) {
    return x > R(0) ? R(1) : R(0);
  }
};

// x Phi(x), Phi the distribution function of the normal distribution (Hendrycks and Gimpel 2016), not the tanh formula.
struct GeluFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return x * Phi(x);
  }
  template <class R>
  SINK_HD static R df(R x) {
    constexpr R kInverseSqrt2Pi = R(0.398942280401432678);
    return Phi(x) + x * kInverseSqrt2Pi * exp_fast(R(-0.5) * x * x);
  }

 private:
  template <class R>
  SINK_HD static R Phi(R x) {
    constexpr R kSqrtHalf = R(0.707106781186547524);
    return R(0.5) * (R(1) + erf_fast(kSqrtHalf * x));
  }
};

// x logistic(2 u), u = sqrt(2/pi) (x + 0.044715 x^3): x (1 + tanh u) / 2, close to GeluFunction ("gelu_new" of GPT-2).
struct GeluTanhFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return x * logistic_fast(R(2) * u(near(x)));
  }
  template <class R>
  SINK_HD static R df(R x) {
    R v = near(x), w = R(2) * u(v), l = logistic_fast(w);
    return l + v * l * logistic_fast(-w) * R(2) * kRoot2OverPi<R> * (R(1) + R(3) * kCubic<R> * v * v);
  }

 private:
  template <class R>
  static constexpr R kRoot2OverPi = R(0.797884560802865356);
  template <class R>
  static constexpr R kCubic = R(0.044715);
  // Far from 0 it is x or 0; there no cube becomes infinite.
  template <class R>
  SINK_HD static R near(R x) {
    return x < R(-12) ? R(-12) : x > R(12) ? R(12) : x;
  }
  template <class R>
  SINK_HD static R u(R x) {
    return kRoot2OverPi<R> * (x + kCubic<R> * x * x * x);
  }
};

// x logistic(x), also called swish.
struct SiluFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return x * logistic_fast(x);
  }
  template <class R>
  SINK_HD static R df(R x) {
    R l = logistic_fast(x);
    return l * (R(1) + x * (R(1) - l));
  }
};

// elu(x) + 1 = x + 1 above 0, exp(x) below.
struct EluPlusOneFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return (x < R(0) ? R(0) : x) + exp_fast(x > R(0) ? R(0) : x);
  }
  template <class R>
  SINK_HD static R df(R x) {
    return exp_fast(x > R(0) ? R(0) : x);
  }
};

// -x
struct NegateFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return -x;
  }
  template <class R>
  SINK_HD static R df(R) {
    return R(-1);
  }
};

#define SINK_ACTIVATION_FUNCTIONS(X) \
  X(ReluFunction) X(GeluFunction) X(GeluTanhFunction) X(SiluFunction) X(EluPlusOneFunction) X(NegateFunction)

// What activation and glu are compiled for: a function that is not in the list above fails to compile where it
// is used, instead of at link time.
#define SINK_OR_SAME_AS(Function) || std::same_as<F, Function>
template <class F>
concept ListedActivationFunction = false SINK_ACTIVATION_FUNCTIONS(SINK_OR_SAME_AS);
#undef SINK_OR_SAME_AS

}  // namespace sink
