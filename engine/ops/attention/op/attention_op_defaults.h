// The properties of an attention operation and their defaults. Every operation of attention_op.h derives from
// AttentionOpDefaults. attention_op_check.h checks that it has the functions of its properties, so a mistyped name is a
// compile error.
#pragma once

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
  sum,        // z(S), and its derivative dz(S)
  key_count,  // z(n)
};

// Members in the order of the formula; each comment names the functions that the property requires. Every operation
// also has g(x), the similarity of a score, and its derivative dg(x).
struct AttentionOpDefaults {
  static constexpr const char* name = nullptr;  // required: its name in the policy line of a run and in checkpoints
  static constexpr Shift shift = Shift::none;
  static constexpr Normalizer normalizer = Normalizer::none;
  // false: S sums g (Shift::threshold: g'). true: S sums r(x), whose derivative is dr(x); with Shift::row_max also
  // r_factor(d) = r(x + d) / r(x).
  static constexpr bool has_separate_normalizer = false;
  // false: a = w. true: a = post(w), whose derivative is dpost(w).
  static constexpr bool has_post = false;
  // true: row(m) returns a struct that has g, dg, r, dr, r_factor, z and dz in place of the operation, for a row with
  // this m.
  static constexpr bool has_row_functions = false;
  // The divisor of |a_ij| in the proxy weights of row i. false: A + 1e-8, where A is the row's sum of |a_ij|. true:
  // proxy_divisor(A, z), as for rows that sum to one, whose proxies are the weights.
  static constexpr bool has_proxy_divisor = false;
};

}  // namespace sink
