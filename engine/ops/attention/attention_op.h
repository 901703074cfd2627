// The attention operations of the study, each a few scalar functions.
//
// An operation turns the scores s_ij of query i into weights (docs: attention.h):
//     S_i  = sum_j g(s_ij - m_i)             m_i: the row maximum if Op::shift_by_row_max, else 0
//     a_ij = g(s_ij - m_i) / z(S_i)
// so it is a similarity (g and its derivative) combined with a divisor (z and its derivative).
//
// To add one: write the similarity or divisor it needs, combine them in a struct below, and add its line to
// attention_ops.def. The reference, the fast kernels, the tests and the benchmark take it from there.
//
// Similarity requires:  template <class R> static R g(R x)
//                       template <class R> static R dg(R x, R gx)       g'(x), given gx = g(x)
// Divisor requires:     template <class R> static R z(R S)
//                       template <class R> static R dz(R S)             z'(S)
// Operation requires:   both, and
//                       name, as the policy line of a run prints it
//                       shift_by_row_max: true only for g(x + y) = g(x) g(y), or partial sums could not be rescaled
//                       when a larger score comes, and only for z(c S) = c z(S), or the shift would change the weights
//                       rows_sum_to_one: whether sum_j a_ij = 1; where false, sinks are scored through proxy weights
// R is double in the reference and float in the kernels, where the compiler makes vector code of these functions: write
// them without branches (a ?: is fine) and take exp_fast, logistic_fast from engine/vector_math.h.
#pragma once

#include "engine/vector_math.h"

namespace sink {

struct ExponentialSimilarity {
  template <class R>
  static R g(R x) {
    return exp_fast(x);
  }
  template <class R>
  static R dg(R, R gx) {
    return gx;
  }
};

struct LogisticSimilarity {
  template <class R>
  static R g(R x) {
    return logistic_fast(x);
  }
  template <class R>
  static R dg(R, R gx) {
    return gx * (R(1) - gx);
  }
};

struct ReluSimilarity {
  template <class R>
  static R g(R x) {
    return x < R(0) ? R(0) : x;  // a NaN passes
  }
  template <class R>
  static R dg(R x, R) {
    return x > R(0) ? R(1) : R(0);
  }
};

struct SumDivisor {
  template <class R>
  static R z(R S) {
    return S;
  }
  template <class R>
  static R dz(R) {
    return R(1);
  }
};

struct NoDivisor {
  template <class R>
  static R z(R) {
    return R(1);
  }
  template <class R>
  static R dz(R) {
    return R(0);
  }
};

struct Softmax : ExponentialSimilarity, SumDivisor {
  static constexpr const char* name = "Softmax";
  static constexpr bool shift_by_row_max = true;
  static constexpr bool rows_sum_to_one = true;
};

struct Sigmoid : LogisticSimilarity, NoDivisor {
  static constexpr const char* name = "Sigmoid";
  static constexpr bool shift_by_row_max = false;
  static constexpr bool rows_sum_to_one = false;
};

struct Relu : ReluSimilarity, NoDivisor {
  static constexpr const char* name = "Relu";
  static constexpr bool shift_by_row_max = false;
  static constexpr bool rows_sum_to_one = false;
};

// What |a_ij| is divided by to score a row through proxy weights (as the study's code does); rows that sum to one are
// scored as they are.
template <class Op>
double proxy_divisor(double absolute_mass) {
  return Op::rows_sum_to_one ? 1 : absolute_mass + 1e-8;
}

}  // namespace sink
