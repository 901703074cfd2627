// The attention operations: how scores s_ij of query i become weights a_ij. Each is one struct; attention_row.h applies
// it to a row.
//
//     x_ij = s_ij - m_i
//     S_i  = sum_j r(x_ij)
//     a_ij = post(g(x_ij) / z(S_i, n_i))      n_i: the number of keys query i sees
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
//   SoftCappedSoftmax  e^(c tanh(x/c))  g          S                 0                   Gemma Team 2024
//   Sparsemax       max(x, 0)        g'            1                 threshold            Martins and Astudillo 2016
//   Entmax15        (max(x, 0) / 2)^2  g'          1                 threshold            Peters et al. 2019
//
// u = e^-m. A threshold is the m at which a row sums to one: sum_j g(s_ij - m_i) = 1. The linear operations are used
// with feature maps of queries and keys, whose product replaces the exponential.
//
// To add an operation, write a struct below, derived from AttentionOpDefaults (or from DividedBySum: z = S + 1e-8), and
// add its line to attention_ops.def. The reference, the kernels, the tests and the benchmark then include it. A struct
// has name, g(x) and dg(x). It states the properties that differ from those in attention_op_defaults.h and has the
// functions that they require. It inherits the properties of its base, so derive only from a base whose properties it
// shares. The comment line before a struct is its formula, which explain shows.
//
// The constants of an operation, and values computed from them, are data members of type Constant, set by a constructor
// with default arguments.
//
// x is double in the reference, float in the CPU kernels, where the compiler vectorizes these functions, and FastFloat
// in the CUDA kernels (engine/cuda/fast_float.cuh). Write functions without branches (a ?: is fine) that propagate NaN,
// with exp_fast, logistic_fast, ... of engine/vector_math.h, constants in the type of x, and library functions as in
// `using std::abs; abs(x)`.
#pragma once

#include <cmath>

#include "engine/host_device.h"
#include "engine/ops/attention/op/attention_op_defaults.h"
#include "engine/vector_math.h"

namespace sink {

inline constexpr double kSumEpsilon = 1e-8;  // that the paper's code adds to sums that may be 0

// A constant of an operation in double and in float, so that no loop converts it.
struct Constant {
  double exact;
  float rounded;

  Constant(double x) : exact(x), rounded(static_cast<float>(x)) {}
  SINK_HD operator double() const { return exact; }
  SINK_HD operator float() const { return rounded; }
};

// Similarity, divided by z = S + 1e-8.
template <class Similarity>
struct DividedBySumOf : Similarity {
  static constexpr Normalizer normalizer = Normalizer::sum;
  SINK_HD static auto z(auto S) { return S + decltype(S)(kSumEpsilon); }
  SINK_HD static auto dz(auto S) { return decltype(S)(1); }
};
using DividedBySum = DividedBySumOf<AttentionOpDefaults>;

// Rows sum to one, so that their proxies are the weights.
template <class Similarity>
struct SumsToOne : Similarity {
  static constexpr bool has_proxy_divisor = true;
  SINK_HD static auto proxy_divisor(auto A, auto) { return decltype(A)(1); }
};
// Similarity, divided by z = S, which is not 0.
template <class Similarity>
struct DividedByOwnSum : SumsToOne<Similarity> {
  static constexpr Normalizer normalizer = Normalizer::sum;
  SINK_HD static auto z(auto S) { return S; }
  SINK_HD static auto dz(auto S) { return decltype(S)(1); }
};

// e^s, shifted by the row maximum so that it cannot overflow.
struct Exponential : AttentionOpDefaults {
  static constexpr Shift shift = Shift::row_max;
  SINK_HD static auto m_of_max(auto s) { return s; }
  SINK_HD static auto g(auto x) { return exp_fast(x); }
  SINK_HD static auto dg(auto x) { return exp_fast(x); }
};

// e^s / sum e^s
struct Softmax : DividedByOwnSum<Exponential> {
  static constexpr const char* name = "Softmax";
};

// The proxy is the softmax weight: the values that the paper reports are possible only with that.
// alpha softmax(s)
struct ScaledSoftmax : Exponential {
  static constexpr const char* name = "ScaledSoftmax";
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_proxy_divisor = true;
  Constant alpha;

  ScaledSoftmax(double alpha = 2) : alpha(alpha) {}
  SINK_HD auto z(auto S) const { return S / decltype(S)(alpha); }
  SINK_HD auto dz(auto S) const { return decltype(S)(1) / decltype(S)(alpha); }
  SINK_HD auto proxy_divisor(auto A, auto) const { return decltype(A)(alpha); }
};

// clip((eta - gamma) softmax(s) + gamma, 0, 1)
struct ClippedSoftmax : Exponential {
  static constexpr const char* name = "ClippedSoftmax";
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_post = true;
  Constant gamma, stretch;

  ClippedSoftmax(double gamma = -0.03, double eta = 1) : gamma(gamma), stretch(eta - gamma) {}
  SINK_HD static auto z(auto S) { return S; }
  SINK_HD static auto dz(auto S) { return decltype(S)(1); }
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
};

// Softmax of scores that stay between -cap and cap. No row maximum is subtracted, since e^50 and e^-50 are far from the
// limits of float.
// e^t / sum e^t with t = cap tanh(s / cap)
struct SoftCappedSoftmax : DividedByOwnSum<AttentionOpDefaults> {
  static constexpr const char* name = "SoftCappedSoftmax";
  Constant cap, inverse_cap;

  SoftCappedSoftmax(double cap = 50) : cap(cap), inverse_cap(1 / cap) {}
  template <class R>
  SINK_HD R g(R x) const {
    return exp_fast(R(cap) * tanh_fast(R(inverse_cap) * x));
  }
  template <class R>
  SINK_HD R dg(R x) const {
    R t = tanh_fast(R(inverse_cap) * x);
    return exp_fast(R(cap) * t) * (R(1) - t * t);
  }
};

// e^s / (sum e^(p s))^(1/p)
struct PNormExp : Exponential {
  static constexpr const char* name = "PNormExp";
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
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
};

// 1 / (1 + e^-s)
struct Sigmoid : AttentionOpDefaults {
  static constexpr const char* name = "Sigmoid";
  SINK_HD static auto g(auto x) { return logistic_fast(x); }
  template <class R>
  SINK_HD static R dg(R x) {
    R gx = logistic_fast(x);
    return gx * (R(1) - gx);
  }
};

// sigmoid(s) / (sum sigmoid(s) + 1e-8)
struct SigmoidNorm : DividedBySumOf<Sigmoid> {
  static constexpr const char* name = "SigmoidNorm";
};

// sigmoid(s) / (sum sigmoid(s)^p + 1e-8)^(1/p)
struct PNormSigmoid : Sigmoid {
  static constexpr const char* name = "PNormSigmoid";
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
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
  static constexpr Shift shift = Shift::key_count;
  SINK_HD static auto m_of_count(auto n) {
    using std::log;
    return log(n);
  }
};

// elu(s) + 1: s + 1 above 0, e^s below
struct Elu : AttentionOpDefaults {
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
struct EluNorm : DividedBySumOf<Elu> {
  static constexpr const char* name = "EluNorm";
};

// max(s, 0)
struct Relu : AttentionOpDefaults {
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
  static constexpr Normalizer normalizer = Normalizer::key_count;
  SINK_HD static auto z(auto n) { return n; }
};

// s
struct Linear : AttentionOpDefaults {
  static constexpr const char* name = "Linear";
  SINK_HD static auto g(auto x) { return x; }
  template <class R>
  SINK_HD static R dg(R) {
    return R(1);
  }
};

// s / (sum s + 1e-8)
struct LinearNorm : DividedBySumOf<Linear> {
  static constexpr const char* name = "LinearNorm";
  static constexpr bool has_proxy_divisor = true;
  // The proxy is |s_ij| / (sum |s_ij| + 1e-8), as in the paper: z contains the 1e-8 already. It equals the weight where
  // no score is negative.
  template <class R>
  SINK_HD static R proxy_divisor(R absolute_sum, R z) {
    using std::abs;
    return absolute_sum + R(kSumEpsilon) / abs(z);
  }
};

// s / max(|sum s|, 1)
struct LinearMaxAbs : Linear {
  static constexpr const char* name = "LinearMaxAbs";
  static constexpr Normalizer normalizer = Normalizer::sum;
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

// Numerator and denominator are multiplied by u = e^-m with m = max(0, row maximum), so that e^s cannot overflow.
// max(e^s - 1, 0) / (sum |e^s - 1| + 1e-8)
struct Softpick : AttentionOpDefaults {
  static constexpr const char* name = "Softpick";
  static constexpr Shift shift = Shift::row_max;
  static constexpr Normalizer normalizer = Normalizer::sum;
  static constexpr bool has_separate_normalizer = true;
  static constexpr bool has_row_functions = true;
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
    SINK_HD R r_factor(R d) const { return exp_fast(d); }
    SINK_HD R z(R S) const { return S + R(kSumEpsilon) * u; }
    SINK_HD R dz(R) const { return R(1); }
  };
  template <class R>
  SINK_HD static Row<R> row(R m) {
    return {exp_fast(-m)};
  }
};

// max(s - m, 0), with the threshold m at which a row sums to one
struct Sparsemax : SumsToOne<Relu> {
  static constexpr const char* name = "Sparsemax";
  static constexpr Shift shift = Shift::threshold;
  template <class R>
  SINK_HD static R threshold_start(R s) {
    return s - R(1);
  }
};

// (max(s - m, 0) / 2)^2, with the threshold m at which a row sums to one
struct Entmax15 : SumsToOne<AttentionOpDefaults> {
  static constexpr const char* name = "Entmax15";
  static constexpr Shift shift = Shift::threshold;
  template <class R>
  SINK_HD static R g(R x) {
    R half = dg(x);
    return half * half;
  }
  template <class R>
  SINK_HD static R dg(R x) {
    return (x < R(0) ? R(0) : x) * R(0.5f);
  }
  template <class R>
  SINK_HD static R threshold_start(R s) {
    return s - R(2);
  }
};

}  // namespace sink
