// The attention operations of the study and its successors, each a few scalar functions.
//
// An operation turns the scores s_ij of query i into weights (docs: attention.h):
//     m_i  = op.least_shift(n_i), or the row's largest score if Op::shift_by_row_max and it is larger
//     S_i  = sum_j r(s_ij - m_i)             n_i: how many keys query i sees
//     a_ij = bend(g(s_ij - m_i) / z(m_i, S_i, n_i))
// so it is a similarity (g) combined with a divisor (z) of a sum (of r, which is g but for p-norms and softpick), each
// with its derivative. bend is the identity but for clipped softmax.
//
// To add one: take or write a similarity (attention_similarity.h) and a divisor (attention_divisor.h), combine them in
// a struct below, and add its line to attention_ops.def. The reference, the fast kernels, the tests and the benchmark
// take it from there. HasAttentionFunctions lists what it needs. Constants are data members of type double, set by a
// constructor with defaults.
//
// R is double in the reference and float in the kernels, where the compiler makes vector code of these functions: write
// them without branches (a ?: is fine) and take exp_fast, logistic_fast, ... from engine/vector_math.h. Write a ?: so
// that a NaN passes.
#pragma once

#include <cmath>
#include <concepts>

#include "engine/ops/attention/attention_divisor.h"
#include "engine/ops/attention/attention_similarity.h"

namespace sink {

template <class Op>
concept HasAttentionFunctions = requires(const Op op, float x, float c, AttentionRow<float> row) {
  { op.g(x, c) } -> std::same_as<float>;             // the similarity of x = s - m; c = row_constant(m)
  { op.dg(x, c) } -> std::same_as<float>;            // its derivative by x
  { op.r(x, c) } -> std::same_as<float>;             // what S sums
  { op.dr(x, c) } -> std::same_as<float>;            // its derivative by x
  { op.z(row) } -> std::same_as<float>;              // the divisor
  { op.dz(row) } -> std::same_as<float>;             // its derivative by S
  { op.bend(x) } -> std::same_as<float>;             // applied to a weight last
  { op.dbend(x) } -> std::same_as<float>;            // its derivative
  { op.least_shift(x) } -> std::same_as<float>;      // of n
  { op.row_constant(x) } -> std::same_as<float>;     // of m: what g and r need besides x, computed once a row
  { op.shift_power() } -> std::same_as<double>;      // see shift_by_row_max
  { Op::name } -> std::convertible_to<const char*>;  // as the policy line of a run prints it
  // Whether m follows the row's maximum. Only if m - d for m makes g e^d times as large and r e^(shift_power d) times,
  // or partial sums could not be rescaled when a larger score comes, and only for a z that grows by e^d as well, or the
  // shift would change the weights.
  { Op::shift_by_row_max } -> std::convertible_to<bool>;
  { Op::sums_weights } -> std::convertible_to<bool>;    // whether r is g, which saves work
  { Op::divides_by_sum } -> std::convertible_to<bool>;  // whether z depends on S
  // What |a_ij| is divided by to score a row through proxy weights, of the row's sum of |a_ij| and its z: the study's
  // sum + 1e-8 for most, 1 where rows sum to one and are scored as they are.
  { op.proxy_divisor(double{}, double{}) } -> std::same_as<double>;
  { Op::bends } -> std::convertible_to<bool>;  // whether bend is more than the identity: costs a second pass
};

struct Softmax : SumOf<ExponentialSimilarity>, SumDivisor {
  static constexpr const char* name = "Softmax";
  static double proxy_divisor(double, double) { return 1; }
};

// alpha softmax(s); scored as softmax, whose weights alone the study's figures can be of.
struct ScaledSoftmax : SumOf<ExponentialSimilarity> {
  static constexpr const char* name = "ScaledSoftmax";
  static constexpr bool divides_by_sum = true;
  double alpha;

  ScaledSoftmax(double alpha = 2) : alpha(alpha) {}
  double proxy_divisor(double, double) const { return alpha; }
  template <class R>
  R z(const AttentionRow<R>& row) const {
    return row.S / R(alpha);
  }
  template <class R>
  R dz(const AttentionRow<R>&) const {
    return R(1) / R(alpha);
  }
};

// exp(s) / (sum exp(s)^p)^(1/p)
struct PNormExp : ExponentialSimilarity {
  static constexpr const char* name = "PNormExp";
  static constexpr bool divides_by_sum = true;
  double p;

  PNormExp(double p = 2) : p(p) {}
  double shift_power() const { return p; }
  template <class R>
  R r(R x, R) const {
    return exp_fast(R(p) * x);
  }
  template <class R>
  R dr(R x, R) const {
    return R(p) * exp_fast(R(p) * x);
  }
  template <class R>
  R z(const AttentionRow<R>& row) const {
    return std::pow(row.S, R(1 / p));
  }
  template <class R>
  R dz(const AttentionRow<R>& row) const {
    return R(1 / p) * std::pow(row.S, R(1 / p - 1));
  }
};

// sigmoid(s) / (sum sigmoid(s)^p + 1e-8)^(1/p)
struct PNormSigmoid : LogisticSimilarity {
  static constexpr const char* name = "PNormSigmoid";
  static constexpr bool divides_by_sum = true;
  double p;

  PNormSigmoid(double p = 2) : p(p) {}
  template <class R>
  R r(R x, R) const {
    return exp_fast(R(p) * log_logistic_fast(x));
  }
  template <class R>
  R dr(R x, R c) const {
    return R(p) * r(x, c) * (R(1) - logistic_fast(x));
  }
  template <class R>
  R z(const AttentionRow<R>& row) const {
    return std::pow(row.S + R(kDivisorEpsilon), R(1 / p));
  }
  template <class R>
  R dz(const AttentionRow<R>& row) const {
    return R(1 / p) * std::pow(row.S + R(kDivisorEpsilon), R(1 / p - 1));
  }
};

struct Sigmoid : SumOf<LogisticSimilarity>, NoDivisor {
  static constexpr const char* name = "Sigmoid";
};

struct SigmoidNorm : SumOf<LogisticSimilarity>, SumPlusEpsilonDivisor {
  static constexpr const char* name = "SigmoidNorm";
};

// sigmoid(s - log n)
struct SigmoidLogN : SumOf<LogisticSimilarity>, NoDivisor {
  static constexpr const char* name = "SigmoidLogN";
  template <class R>
  static R least_shift(R n) {
    return std::log(n);
  }
};

struct Elu : SumOf<EluPlusOneSimilarity>, NoDivisor {
  static constexpr const char* name = "Elu";
};

struct EluNorm : SumOf<EluPlusOneSimilarity>, SumPlusEpsilonDivisor {
  static constexpr const char* name = "EluNorm";
};

struct Relu : SumOf<ReluSimilarity>, NoDivisor {
  static constexpr const char* name = "Relu";
};

// relu(s) / n
struct ReluN : SumOf<ReluSimilarity>, CountDivisor {
  static constexpr const char* name = "ReluN";
};

struct Linear : SumOf<IdentitySimilarity>, NoDivisor {
  static constexpr const char* name = "Linear";
};

struct LinearNorm : SumOf<IdentitySimilarity>, SumPlusEpsilonDivisor {
  static constexpr const char* name = "LinearNorm";
  // The 1e-8 is in z already and not added again, as in the study: |s_ij| / (sum |s_ij| + 1e-8), which is the weight
  // itself where no score is negative.
  static double proxy_divisor(double absolute_mass, double z) { return absolute_mass + kDivisorEpsilon / std::abs(z); }
};

struct LinearMaxAbs : SumOf<IdentitySimilarity>, MaxAbsDivisor {
  static constexpr const char* name = "LinearMaxAbs";
};

// relu(e^s - 1) / (sum |e^s - 1| + 1e-8), everything times e^-m with m = max(0, row maximum).
struct Softpick : PlainOperation {
  static constexpr const char* name = "Softpick";
  static constexpr bool shift_by_row_max = true;
  static constexpr bool divides_by_sum = true;
  template <class R>
  static R row_constant(R m) {
    return exp_fast(-m);  // 1 times e^-m
  }
  template <class R>
  static R g(R x, R one) {
    R above = exp_fast(x) - one;
    return above < R(0) ? R(0) : above;
  }
  template <class R>
  static R dg(R x, R one) {
    R e = exp_fast(x);
    return e > one ? e : R(0);
  }
  template <class R>
  static R r(R x, R one) {
    return std::abs(exp_fast(x) - one);
  }
  template <class R>
  static R dr(R x, R one) {
    R e = exp_fast(x);
    return (e > one ? e : R(0)) - (e < one ? e : R(0));
  }
  template <class R>
  static R z(const AttentionRow<R>& row) {
    return row.S + R(kDivisorEpsilon) * exp_fast(-row.m);
  }
  template <class R>
  static R dz(const AttentionRow<R>&) {
    return R(1);
  }
};

// clip((eta - gamma) softmax(s) + gamma, 0, 1)
struct ClippedSoftmax : SumOf<ExponentialSimilarity>, SumDivisor {
  static constexpr const char* name = "ClippedSoftmax";
  static constexpr bool bends = true;
  double gamma, eta;

  ClippedSoftmax(double gamma = -0.03, double eta = 1) : gamma(gamma), eta(eta) {}
  template <class R>
  R bend(R w) const {
    R y = R(eta - gamma) * w + R(gamma);
    y = y < R(0) ? R(0) : y;
    return y > R(1) ? R(1) : y;
  }
  template <class R>
  R dbend(R w) const {
    R y = R(eta - gamma) * w + R(gamma);
    return (y >= R(0)) & (y <= R(1)) ? R(eta - gamma) : R(0);
  }
};

}  // namespace sink
