// The similarities that attention operations are made of: g of a shifted score x = s - m, and its derivative. What each
// function means is said by HasAttentionFunctions in attention_op.h.
#pragma once

#include <limits>

#include "engine/ops/attention/attention_divisor.h"
#include "engine/vector_math.h"

namespace sink {

// What most operations do not have.
struct PlainOperation {
  static constexpr bool sums_weights = false;
  static constexpr bool shift_by_row_max = false;
  static constexpr bool bends = false;
  static double shift_power() { return 1; }
  static double proxy_divisor(double absolute_mass, double) { return absolute_mass + kDivisorEpsilon; }
  template <class R>
  static R least_shift(R) {
    return R(0);
  }
  template <class R>
  static R row_constant(R) {
    return R(0);
  }
  template <class R>
  static R bend(R w) {
    return w;
  }
  template <class R>
  static R dbend(R) {
    return R(1);
  }
};

struct ExponentialSimilarity : PlainOperation {
  static constexpr bool shift_by_row_max = true;
  template <class R>
  static R least_shift(R) {
    return std::numeric_limits<R>::lowest();
  }
  template <class R>
  static R g(R x, R) {
    return exp_fast(x);
  }
  template <class R>
  static R dg(R x, R) {
    return exp_fast(x);
  }
};

struct LogisticSimilarity : PlainOperation {
  template <class R>
  static R g(R x, R) {
    return logistic_fast(x);
  }
  template <class R>
  static R dg(R x, R) {
    R gx = logistic_fast(x);
    return gx * (R(1) - gx);
  }
};

// elu(x) + 1
struct EluPlusOneSimilarity : PlainOperation {
  template <class R>
  static R g(R x, R) {
    return (x < R(0) ? R(0) : x) + exp_fast(x > R(0) ? R(0) : x);
  }
  template <class R>
  static R dg(R x, R) {
    return exp_fast(x > R(0) ? R(0) : x);
  }
};

struct ReluSimilarity : PlainOperation {
  template <class R>
  static R g(R x, R) {
    return x < R(0) ? R(0) : x;
  }
  template <class R>
  static R dg(R x, R) {
    return x > R(0) ? R(1) : R(0);
  }
};

struct IdentitySimilarity : PlainOperation {
  template <class R>
  static R g(R x, R) {
    return x;
  }
  template <class R>
  static R dg(R, R) {
    return R(1);
  }
};

// S sums what the weights are made of.
template <class Similarity>
struct SumOf : Similarity {
  static constexpr bool sums_weights = true;
  template <class R>
  static R r(R x, R c) {
    return Similarity::g(x, c);
  }
  template <class R>
  static R dr(R x, R c) {
    return Similarity::dg(x, c);
  }
};

}  // namespace sink
