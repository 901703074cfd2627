// The functions of feed-forward layers, feature maps and logits, each with its derivative.
//
// To add one: write its struct below and its name in SINK_ACTIVATION_FUNCTIONS. R is double in ref:: and float in
// cpu::, where the compiler makes vector code of these functions: write them without branches (a ?: is fine), with the
// functions of engine/vector_math.h, and a ?: so that a NaN passes.
#pragma once

#include <concepts>
#include <cstdint>

#include "engine/dtype.h"
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

// relu(x)^2 (So et al. 2021)
struct ReluSquaredFunction {
  template <class R>
  SINK_HD static R f(R x) {
    return ReluFunction::f(x) * ReluFunction::f(x);
  }
  template <class R>
  SINK_HD static R df(R x) {
    return R(2) * ReluFunction::f(x);
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

// cap tanh(x / cap), which is near x around 0 and stays between -cap and cap (Gemma Team 2024, of logits). Its
// derivative is a function of y, which activation_backward takes in place of x. cap > 0.
struct SoftCap {
  double cap = 0;

  template <class R>
  SINK_HD R f(R x) const {
    return R(cap) * tanh_fast(x / R(cap));
  }
  template <class R>
  SINK_HD R df(R y) const {
    const R t = y / R(cap);
    return 1 - t * t;
  }
};

// The gated unit F(gate) up, of rows that are all gates, then all ups (Shazeer 2020). With F = silu it is called
// SwiGLU, with relu ReGLU, with gelu GeGLU.
template <class F>
struct Glu {};

#define SINK_PLAIN_AND_GATED(F, X) X(F) X(Glu<F>)
#define SINK_ACTIVATION_FUNCTIONS(X)                                              \
  SINK_PLAIN_AND_GATED(ReluFunction, X)                                           \
  SINK_PLAIN_AND_GATED(ReluSquaredFunction, X)                                    \
  SINK_PLAIN_AND_GATED(GeluFunction, X) SINK_PLAIN_AND_GATED(GeluTanhFunction, X) \
      SINK_PLAIN_AND_GATED(SiluFunction, X) SINK_PLAIN_AND_GATED(EluPlusOneFunction, X) X(NegateFunction) X(SoftCap)

// What activation is compiled for: a function that is not in the list above fails to compile where it is used, instead
// of at link time.
#define SINK_OR_SAME_AS(...) || std::same_as<F, __VA_ARGS__>
template <class F>
concept ListedActivationFunction = false SINK_ACTIVATION_FUNCTIONS(SINK_OR_SAME_AS);
#undef SINK_OR_SAME_AS

// A row of x has this many times the elements of a row of y.
template <class F>
inline constexpr std::int64_t kInputsOf = 1;
template <class F>
inline constexpr std::int64_t kInputsOf<Glu<F>> = 2;

// One element y of a row: of x[0] and, in a gated unit, of x[width].
template <class R, class F, class X>
SINK_HD R activated(const F& f, const X* x, std::int64_t) {
  return f.f(R(x[0]));
}
template <class R, class F, class X>
SINK_HD R activated(const Glu<F>&, const X* x, std::int64_t width) {
  return F::f(R(x[0])) * R(x[width]);
}

// Its gradients, to the same places of dx.
template <class R, class F, class X>
SINK_HD void activated_backward(const F& f, R dy, const X* x, X* dx, std::int64_t) {
  store(dx[0], dy * f.df(R(x[0])));
}
template <class R, class F, class X>
SINK_HD void activated_backward(const Glu<F>&, R dy, const X* x, X* dx, std::int64_t width) {
  const R gate = R(x[0]), up = R(x[width]);
  store(dx[width], dy * F::f(gate));
  store(dx[0], dy * up * F::df(gate));
}

}  // namespace sink
