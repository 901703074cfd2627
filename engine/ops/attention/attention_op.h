// The attention operations: how the scores s_ij of query i become weights a_ij. One struct each, complete with its
// formula; what the engine makes of a struct is in attention_row.h.
//
//     x_ij = s_ij - m_i
//     S_i  = sum_j r(x_ij)
//     a_ij = post(g(x_ij) / z(S_i, n_i))      n_i: how many keys query i sees
//
//   operation       g                r             z                 m             post  proposed by
//   Softmax         e^x              g             S                 row maximum         Vaswani et al. 2017
//   ScaledSoftmax   e^x              g             S / alpha         row maximum         Gu et al. 2025, section 7.4
//   ClippedSoftmax  e^x              g             S                 row maximum   clip  Bondarenko et al. 2023
//   PNormExp        e^x              g^p           S^(1/p)           row maximum         Gu et al. 2025, appendix D.4
//   Sigmoid         1 / (1 + e^-x)   g             1                 0                   Gu et al. 2025, section 7.4
//   SigmoidNorm     1 / (1 + e^-x)   g             S + 1e-8          0                   Gu et al. 2025, section 7.4
//   PNormSigmoid    1 / (1 + e^-x)   g^p           (S + 1e-8)^(1/p)  0                   Gu et al. 2025, appendix D.4
//   SigmoidLogN     1 / (1 + e^-x)   g             1                 log n               Ramapuram et al. 2024
//   Elu             elu(x) + 1       g             1                 0                   Gu et al. 2025, section 7.4
//   EluNorm         elu(x) + 1       g             S + 1e-8          0                   Gu et al. 2025, section 7.4
//   Relu            max(x, 0)        g             1                 0                   Guo et al. 2024
//   ReluN           max(x, 0)        g             n                 0                   Wortsman et al. 2023
//   Linear          x                g             1                 0                   Gu et al. 2025, section 7.4
//   LinearNorm      x                g             S + 1e-8          0                   Katharopoulos et al. 2020
//   LinearMaxAbs    x                g             max(|S|, 1)       0                   Sun et al. 2023
//   Softpick        max(e^x - u, 0)  |e^x - u|     S + 1e-8 u        max(0, row maximum)  Zuhri et al. 2025
//
// u = e^-m. The Linear ones are used with feature maps of queries and keys, whose product replaces the exponential.
//
// To add one: a struct below and its line in attention_ops.def. The reference, the fast kernels, the tests and the
// benchmark take it from there. A struct has
//     name                      as the policy line of a run prints it
//     g(x), dg(x)               and the derivative
// and, where it differs from what stands on the right,
//     z(S) or z(S, n)           1
//     dz(S)                     0: its derivative by S; an operation that has it divides by its sum
//     r(x), dr(x)               g, dg
//     post(w), dpost(w)         the identity, 1
//     m_of_max(s)               0: m from the row's largest score. Only if g(x + d) = e^d g(x) and z grows as g does,
//                               so that m changes no weight and partial sums can be rescaled when a larger score comes
//     r_factor(d)               e^d: r(x + d) / r(x), for those that have m_of_max
//     m_of_count(n)             0
//     row(m)                    the struct itself: what has the functions above for a row with this m, if they need it
//     proxy_divisor(mass, z)    mass + 1e-8: what |a_ij| is divided by to score a row through proxy weights, mass being
//                               the row's sum of |a_ij|; 1 where rows sum to one and are scored as they are
// Constants of an operation, and what is computed from them, are data members of type Constant set by a constructor
// with defaults.
//
// x is double in the reference, float in the kernels of the CPU, where the compiler makes vector code of these
// functions, and FastFloat in those of CUDA (engine/cuda/fast_float.cuh). So write them without branches (a ?: is
// fine), so that a NaN passes, with exp_fast, logistic_fast, ... of engine/vector_math.h, constants in the type of x,
// and functions of the library as in `using std::abs; abs(x)`.
#pragma once

#include <cmath>

#include "engine/host_device.h"
#include "engine/vector_math.h"

namespace sink {

inline constexpr double kSumEpsilon = 1e-8;  // as the study's code adds it to sums that may vanish

// A number of an operation in the type that it is computed in, without a conversion in a loop.
struct Constant {
  double exact;
  float rounded;

  Constant(double x) : exact(x), rounded(static_cast<float>(x)) {}
  SINK_HD operator double() const { return exact; }
  SINK_HD operator float() const { return rounded; }
};

// z = S + 1e-8
struct DividedBySum {
  template <class R>
  SINK_HD static R z(R S) {
    return S + R(kSumEpsilon);
  }
  template <class R>
  SINK_HD static R dz(R) {
    return R(1);
  }
};

// e^s / sum e^s
struct Softmax {
  static constexpr const char* name = "Softmax";
  SINK_HD static auto m_of_max(auto s) { return s; }
  SINK_HD static auto g(auto x) { return exp_fast(x); }
  SINK_HD static auto dg(auto x) { return exp_fast(x); }
  SINK_HD static auto z(auto S) { return S; }
  template <class R>
  SINK_HD static R dz(R) {
    return R(1);
  }
  template <class R>
  SINK_HD static R proxy_divisor(R, R) {
    return R(1);
  }
};

// alpha softmax(s); scored as softmax, whose weights alone the study's figures can be of.
struct ScaledSoftmax : Softmax {
  static constexpr const char* name = "ScaledSoftmax";
  Constant alpha;

  ScaledSoftmax(double alpha = 2) : alpha(alpha) {}
  template <class R>
  SINK_HD R z(R S) const {
    return S / R(alpha);
  }
  template <class R>
  SINK_HD R dz(R) const {
    return R(1) / R(alpha);
  }
  template <class R>
  SINK_HD R proxy_divisor(R, R) const {
    return R(alpha);
  }
};

// clip((eta - gamma) softmax(s) + gamma, 0, 1)
struct ClippedSoftmax : Softmax {
  static constexpr const char* name = "ClippedSoftmax";
  Constant gamma, stretch;

  ClippedSoftmax(double gamma = -0.03, double eta = 1) : gamma(gamma), stretch(eta - gamma) {}
  template <class R>
  SINK_HD R post(R w) const {
    R y = R(stretch) * w + R(gamma);
    y = y < R(0) ? R(0) : y;
    return y > R(1) ? R(1) : y;
  }
  template <class R>
  SINK_HD R dpost(R w) const {
    R y = R(stretch) * w + R(gamma);
    return (y >= R(0)) & (y <= R(1)) ? R(stretch) : R(0);
  }
  template <class R>
  SINK_HD static R proxy_divisor(R mass, R) {
    return mass + R(kSumEpsilon);
  }
};

// e^s / (sum e^(p s))^(1/p)
struct PNormExp : Softmax {
  static constexpr const char* name = "PNormExp";
  Constant p, root, root_minus_1;

  PNormExp(double p = 2) : p(p), root(1 / p), root_minus_1(1 / p - 1) {}
  template <class R>
  SINK_HD R r(R x) const {
    return exp_fast(R(p) * x);
  }
  template <class R>
  SINK_HD R dr(R x) const {
    return R(p) * exp_fast(R(p) * x);
  }
  SINK_HD auto r_factor(auto d) const { return r(d); }
  template <class R>
  SINK_HD R z(R S) const {
    using std::pow;
    return pow(S, R(root));
  }
  template <class R>
  SINK_HD R dz(R S) const {
    using std::pow;
    return R(root) * pow(S, R(root_minus_1));
  }
  template <class R>
  SINK_HD static R proxy_divisor(R mass, R) {
    return mass + R(kSumEpsilon);
  }
};

// 1 / (1 + e^-s)
struct Sigmoid {
  static constexpr const char* name = "Sigmoid";
  SINK_HD static auto g(auto x) { return logistic_fast(x); }
  template <class R>
  SINK_HD static R dg(R x) {
    R gx = logistic_fast(x);
    return gx * (R(1) - gx);
  }
};

// sigmoid(s) / (sum sigmoid(s) + 1e-8)
struct SigmoidNorm : Sigmoid, DividedBySum {
  static constexpr const char* name = "SigmoidNorm";
};

// sigmoid(s) / (sum sigmoid(s)^p + 1e-8)^(1/p)
struct PNormSigmoid : Sigmoid {
  static constexpr const char* name = "PNormSigmoid";
  Constant p, root, root_minus_1;

  PNormSigmoid(double p = 2) : p(p), root(1 / p), root_minus_1(1 / p - 1) {}
  template <class R>
  SINK_HD R r(R x) const {
    return exp_fast(R(p) * log_logistic_fast(x));
  }
  template <class R>
  SINK_HD R dr(R x) const {
    return R(p) * r(x) * (R(1) - logistic_fast(x));
  }
  template <class R>
  SINK_HD R z(R S) const {
    using std::pow;
    return pow(S + R(kSumEpsilon), R(root));
  }
  template <class R>
  SINK_HD R dz(R S) const {
    using std::pow;
    return R(root) * pow(S + R(kSumEpsilon), R(root_minus_1));
  }
};

// sigmoid(s - log n)
struct SigmoidLogN : Sigmoid {
  static constexpr const char* name = "SigmoidLogN";
  SINK_HD static auto m_of_count(auto n) {
    using std::log;
    return log(n);
  }
};

// elu(s) + 1: s + 1 above 0, e^s below
struct Elu {
  static constexpr const char* name = "Elu";
  template <class R>
  SINK_HD static R g(R x) {
    return (x < R(0) ? R(0) : x) + exp_fast(x > R(0) ? R(0) : x);
  }
  template <class R>
  SINK_HD static R dg(R x) {
    return exp_fast(x > R(0) ? R(0) : x);
  }
};

// (elu(s) + 1) / (sum (elu(s) + 1) + 1e-8)
struct EluNorm : Elu, DividedBySum {
  static constexpr const char* name = "EluNorm";
};

// max(s, 0)
struct Relu {
  static constexpr const char* name = "Relu";
  template <class R>
  SINK_HD static R g(R x) {
    return x < R(0) ? R(0) : x;
  }
  template <class R>
  SINK_HD static R dg(R x) {
    return x > R(0) ? R(1) : R(0);
  }
};

// max(s, 0) / n
struct ReluN : Relu {
  static constexpr const char* name = "ReluN";
  SINK_HD static auto z(auto, auto n) { return n; }
};

// s
struct Linear {
  static constexpr const char* name = "Linear";
  SINK_HD static auto g(auto x) { return x; }
  template <class R>
  SINK_HD static R dg(R) {
    return R(1);
  }
};

// s / (sum s + 1e-8)
struct LinearNorm : Linear, DividedBySum {
  static constexpr const char* name = "LinearNorm";
  // The 1e-8 is in z already and not added again, as in the study: |s_ij| / (sum |s_ij| + 1e-8), which is the weight
  // itself where no score is negative.
  template <class R>
  SINK_HD static R proxy_divisor(R mass, R z) {
    using std::abs;
    return mass + R(kSumEpsilon) / abs(z);
  }
};

// s / max(|sum s|, 1)
struct LinearMaxAbs : Linear {
  static constexpr const char* name = "LinearMaxAbs";
  template <class R>
  SINK_HD static R z(R S) {
    using std::abs;
    R size = abs(S);
    return size < R(1) ? R(1) : size;
  }
  template <class R>
  SINK_HD static R dz(R S) {
    using std::abs, std::copysign;
    return abs(S) > R(1) ? copysign(R(1), S) : R(0);
  }
};

// max(e^s - 1, 0) / (sum |e^s - 1| + 1e-8), above and below times u = e^-m with m = max(0, row maximum)
struct Softpick {
  static constexpr const char* name = "Softpick";
  template <class R>
  SINK_HD static R m_of_max(R s) {
    return s < R(0) ? R(0) : s;
  }

  template <class R>
  struct Row {
    R u;
    SINK_HD R g(R x) const {
      R above = exp_fast(x) - u;
      return above < R(0) ? R(0) : above;
    }
    SINK_HD R dg(R x) const {
      R e = exp_fast(x);
      return e > u ? e : R(0);
    }
    SINK_HD R r(R x) const {
      using std::abs;
      return abs(exp_fast(x) - u);
    }
    SINK_HD R dr(R x) const {
      R e = exp_fast(x);
      return (e > u ? e : R(0)) - (e < u ? e : R(0));
    }
    SINK_HD R z(R S) const { return S + R(kSumEpsilon) * u; }
    SINK_HD R dz(R) const { return R(1); }
  };
  template <class R>
  SINK_HD static Row<R> row(R m) {
    return {exp_fast(-m)};
  }
};

}  // namespace sink
