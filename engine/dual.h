// Dual numbers: a value and its derivative, carried through a formula by the rules of differentiation (forward mode;
// Wengert 1964). A function written for any type of number gives its derivative at x as f(Dual<R>(x, 1)).slope:
//
//     auto f = [](auto x) { return exp_fast(x) / 2; };
//     f(Dual<double>(3.0, 1.0)).slope     e^3 / 2
//
// A derivative at a kink is that of the branch that is taken: x < 0 ? 0 : x has 1 at 0, x <= 0 ? 0 : x has 0. A
// constant costs nothing if it is a whole number or a Constant, not a Dual; then an infinite value times its slope of 0
// is no NaN either.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "engine/host_device.h"
#include "engine/vector_math.h"

namespace sink {

// A constant in double and in float, so that no loop converts it.
struct Constant {
  double exact;
  float rounded;

  Constant(double x) : exact(x), rounded(static_cast<float>(x)) {}
  SINK_HD operator double() const { return exact; }
  SINK_HD operator float() const { return rounded; }
};

template <class R>
struct Dual;

template <class C>
concept ConstantNumber = std::is_arithmetic_v<C> || std::same_as<C, Constant>;
template <class R>
inline constexpr bool is_dual = false;
template <class R>
inline constexpr bool is_dual<Dual<R>> = true;
template <class R>
concept RealNumber = std::is_floating_point_v<R> || !(ConstantNumber<R> || is_dual<R>);

// A Constant in the type of what it is combined with.
#define SINK_WITH_CONSTANT(op)                    \
  template <RealNumber R>                         \
  SINK_HD R operator op(R x, const Constant& c) { \
    return x op R(c);                             \
  }                                               \
  template <RealNumber R>                         \
  SINK_HD R operator op(const Constant& c, R x) { \
    return R(c) op x;                             \
  }
SINK_WITH_CONSTANT(+)
SINK_WITH_CONSTANT(-)
SINK_WITH_CONSTANT(*)
SINK_WITH_CONSTANT(/)
#undef SINK_WITH_CONSTANT

// R: double, float, or the FastFloat of CUDA kernels.
template <class R>
struct Dual {
  R value, slope;

  Dual() = default;
  SINK_HD constexpr Dual(R value, R slope) : value(value), slope(slope) {}
  template <class C>
  requires(!std::same_as<C, Dual> && std::is_constructible_v<R, const C&>) SINK_HD constexpr Dual(const C& constant)
      : value(R(constant)), slope(R(0)) {}

  friend SINK_HD Dual operator-(Dual x) { return {-x.value, -x.slope}; }
  friend SINK_HD Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
  friend SINK_HD Dual operator-(Dual x, Dual y) { return {x.value - y.value, x.slope - y.slope}; }
  friend SINK_HD Dual operator*(Dual x, Dual y) { return {x.value * y.value, x.slope * y.value + x.value * y.slope}; }
  friend SINK_HD Dual operator/(Dual x, Dual y) {
    R quotient = x.value / y.value;
    return {quotient, (x.slope - quotient * y.slope) / y.value};
  }

  template <ConstantNumber C>
  friend SINK_HD Dual operator+(Dual x, const C& c) {
    return {x.value + R(c), x.slope};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator+(const C& c, Dual x) {
    return {R(c) + x.value, x.slope};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator-(Dual x, const C& c) {
    return {x.value - R(c), x.slope};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator-(const C& c, Dual x) {
    return {R(c) - x.value, -x.slope};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator*(Dual x, const C& c) {
    return {x.value * R(c), x.slope * R(c)};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator*(const C& c, Dual x) {
    return {R(c) * x.value, R(c) * x.slope};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator/(Dual x, const C& c) {
    return {x.value / R(c), x.slope / R(c)};
  }
  template <ConstantNumber C>
  friend SINK_HD Dual operator/(const C& c, Dual x) {
    R quotient = R(c) / x.value;
    return {quotient, -(quotient * x.slope) / x.value};
  }

  friend SINK_HD bool operator<(Dual x, Dual y) { return x.value < y.value; }
  friend SINK_HD bool operator>(Dual x, Dual y) { return x.value > y.value; }
  friend SINK_HD bool operator<=(Dual x, Dual y) { return x.value <= y.value; }
  friend SINK_HD bool operator>=(Dual x, Dual y) { return x.value >= y.value; }
};

#define SINK_RULE(function) \
  template <class R>        \
  SINK_HD Dual<R> function(Dual<R> x)

SINK_RULE(exp_fast) {
  R y = exp_fast(x.value);
  return {y, y * x.slope};
}
SINK_RULE(exp) {
  using std::exp;
  R y = exp(x.value);
  return {y, y * x.slope};
}
SINK_RULE(log_fast) { return {log_fast(x.value), x.slope / x.value}; }
SINK_RULE(log) {
  using std::log;
  return {log(x.value), x.slope / x.value};
}
SINK_RULE(logistic_fast) {
  R y = logistic_fast(x.value);
  return {y, y * (R(1) - y) * x.slope};
}
SINK_RULE(log_logistic_fast) { return {log_logistic_fast(x.value), (R(1) - logistic_fast(x.value)) * x.slope}; }
SINK_RULE(tanh_fast) {
  R y = tanh_fast(x.value);
  return {y, (R(1) - y * y) * x.slope};
}
SINK_RULE(tanh) {
  using std::tanh;
  R y = tanh(x.value);
  return {y, (R(1) - y * y) * x.slope};
}
SINK_RULE(erf_fast) {  // 2 / sqrt(pi) e^(-x^2)
  return {erf_fast(x.value), R(1.12837916709551257) * exp_fast(-(x.value * x.value)) * x.slope};
}
SINK_RULE(sqrt) {
  using std::sqrt;
  R y = sqrt(x.value);
  return {y, x.slope / (y + y)};
}
SINK_RULE(abs) {  // 0 at 0
  using std::abs;
  R sign = x.value > R(0) ? R(1) : x.value < R(0) ? R(-1) : R(0);
  return {abs(x.value), sign * x.slope};
}
#undef SINK_RULE

// |x| with the sign of y, which has no slope of its own.
template <class R>
SINK_HD Dual<R> copysign(Dual<R> x, Dual<R> y) {
  using std::copysign;
  Dual<R> size = abs(x);
  R sign = copysign(R(1), y.value);
  return {sign * size.value, sign * size.slope};
}
template <class R>
SINK_HD Dual<R> pow(Dual<R> x, Dual<R> p) {
  using std::pow, std::log;
  R y = pow(x.value, p.value), by_base = p.value * pow(x.value, p.value - R(1)) * x.slope;
  bool constant = p.slope <= R(0) && p.slope >= R(0);
  return {y, constant ? by_base : by_base + y * log(x.value) * p.slope};
}
template <class R, ConstantNumber C>
SINK_HD Dual<R> pow(Dual<R> x, const C& p) {
  return pow(x, Dual<R>(p));
}
template <class R, ConstantNumber C>
SINK_HD Dual<R> pow(const C& x, Dual<R> p) {
  return pow(Dual<R>(x), p);
}

}  // namespace sink
