// What an attention operation is: how scores s_ij of query i become weights a_ij.
//
//     x_ij = s_ij - m_i
//     S_i  = sum_j r(x_ij)
//     a_ij = post(g(x_ij) / z(S_i, n_i))      n_i: the number of keys query i sees
//
// An operation is a struct with these functions. g, the similarity of a score, is always there:
//
//     struct Tempered : AttentionOpDefaults {
//       SINK_HD static auto g(auto x) { return exp_fast(x - 1) / 8; }
//     };
//
// What differs from the defaults is stated by the properties of AttentionOpDefaults, each with the functions that it
// requires; attention_op_check.h refuses a mistake with a sentence. The compiler derives g', r', z' and post' from the
// functions (engine/dual.h). One that is written by hand (dg, dr, dz, dpost) takes the place of the derived one, with
// which it is compared when a model is made (written_derivatives.h); ours are written where that is faster, or where
// a convention decides the derivative of a kink.
//
// The operations of the library are the other files of this folder, one each; attention_ops.h names all. One of yours
// is in a file of your own (model/ADD_AN_ABLATION.md).
//
// x is double in the reference, float in the CPU kernels, where the compiler vectorizes these functions, FastFloat in
// the CUDA kernels (engine/cuda/fast_float.cuh), and a Dual of each for derivatives. So a function takes `auto`, has no
// branches (a ?: is fine), propagates NaN, and uses integers, Constants, exp_fast, logistic_fast, ... of
// engine/vector_math.h, and library functions as in `using std::abs; abs(x)`.
#pragma once

#include <cmath>
#include <type_traits>

#include "engine/dual.h"
#include "engine/host_device.h"
#include "engine/ops/attention/op/operation_formula.h"
#include "engine/ops/attention/op/operation_name.h"
#include "engine/vector_math.h"

namespace sink {

// m_i, which is subtracted from the scores of row i.
enum class Shift {
  none,       // m = 0
  row_max,    // m = m_of_max(the row's largest score). Only if g(x + d) = e^d g(x) and z grows in the same way: then m
              // changes no weight, and partial sums can be rescaled when a larger score appears.
  key_count,  // m = m_of_count(n)
  threshold,  // m is where sum_j g(s_j - m) = 1, and S sums g', as dm / ds_j = g'(s_j - m) / S.
              // threshold_start(the row's largest score s) = s - x where g(x) = 1. Only if g is 0 below 0, and convex
              // and increasing above: then threshold_start is a lower bound of m, from which Newton's method increases
              // to m.
};

// z_i, by which the values g(x_ij) of row i are divided.
enum class Normalizer {
  none,       // z = 1
  sum,        // z(S)
  key_count,  // z(n)
};

// Members in the order of the formula; each comment names the functions that the property requires.
struct AttentionOpDefaults {
  static constexpr Shift shift = Shift::none;
  static constexpr Normalizer normalizer = Normalizer::none;
  // false: S sums g (Shift::threshold: g'). true: S sums r(x); with Shift::row_max also r_factor(d) = r(x + d) / r(x).
  static constexpr bool has_separate_normalizer = false;
  // false: a = w. true: a = post(w).
  static constexpr bool has_post = false;
  // true: row(m) returns a struct that has g, r, r_factor and z in place of the operation, for a row with this m.
  static constexpr bool has_row_functions = false;
  // The divisor of |a_ij| in the proxy weights of row i. false: A + 1e-8, where A is the row's sum of |a_ij|. true:
  // proxy_divisor(A, z), as for rows that sum to one, whose proxies are the weights.
  static constexpr bool has_proxy_divisor = false;
  // true: a derivative that is written is not the one of its function, on purpose (g of rounded scores).
  static constexpr bool has_derivative_of_its_own = false;
};

inline constexpr double kSumEpsilon = 1e-8;  // that the paper's code adds to sums that may be 0

// Similarity, divided by z = S + 1e-8.
template <class Similarity>
struct DividedBySumOf : Similarity {
  static constexpr Normalizer normalizer = Normalizer::sum;
  SINK_HD static auto z(auto S) { return S + decltype(S)(kSumEpsilon); }
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
};

// e^s, shifted by the row maximum so that it cannot overflow.
struct Exponential : AttentionOpDefaults {
  static constexpr Shift shift = Shift::row_max;
  SINK_HD static auto m_of_max(auto s) { return s; }
  SINK_HD static auto g(auto x) { return exp_fast(x); }
};

// The formula of an operation: a member `OperationFormula formula() const` of its own (one that it inherits is that of
// another operation), or what its properties say.
template <class Op>
OperationFormula operation_formula() {
  if constexpr (requires { &Op::formula; }) {
    if constexpr (std::is_same_v<decltype(&Op::formula), OperationFormula (Op::*)() const>) return Op().formula();
  }
  constexpr bool threshold = Op::shift == Shift::threshold;
  return {.r = threshold                     ? "g'"
               : Op::has_separate_normalizer ? "r(x)"
                                             : "g",
          .z = Op::normalizer == Normalizer::none ? "1" : "",
          .m = threshold                  ? "threshold"
               : Op::shift == Shift::none ? "0"
                                          : "",
          .post = Op::has_post ? "post(w)" : ""};
}

}  // namespace sink
