// One row of attention under an operation of attention_op.h: the operation's functions with what they need of the row,
// and the usual ones where it has none of its own. References, kernels and tests call operations through this alone.
#pragma once

#include <concepts>
#include <limits>
#include <utility>

#include "engine/ops/attention/attention_op.h"

namespace sink {

// What has the functions of score and sum for a row with shift m: op.row(m), or the operation itself.
template <class Op, class R>
SINK_HD auto row_functions(const Op& op, R m) {
  if constexpr (requires { op.row(m); }) {
    return op.row(m);
  } else {
    return op;
  }
}
template <class Op, class R = float>
using RowFunctions = decltype(row_functions(std::declval<const Op&>(), R{}));

// The optional parts of an operation, each with the derivative that it needs.
template <class Op>
concept HasDivisor = requires(const RowFunctions<Op> row, float S) {
  { row.z(S) } -> std::same_as<float>;
}
|| requires(const RowFunctions<Op> row, float S, float n) {
  { row.z(S, n) } -> std::same_as<float>;
};
template <class Op>
concept DividesBySum = HasDivisor<Op> && requires(const RowFunctions<Op> row, float S) {
  { row.dz(S) } -> std::same_as<float>;
};
template <class Op>
concept SumsApart = requires(const RowFunctions<Op> row, float x) {  // S is not the sum of g
  { row.r(x) } -> std::same_as<float>;
  { row.dr(x) } -> std::same_as<float>;
};
template <class Op>
concept ShiftsByMax = requires(const Op op, float s) {
  { op.m_of_max(s) } -> std::same_as<float>;
};
template <class Op>
concept HasPost = requires(const Op op, float w) {
  { op.post(w) } -> std::same_as<float>;
  { op.dpost(w) } -> std::same_as<float>;
};

// What every operation has; and no part without its derivative, which would silently be taken for none.
template <class Op>
concept HasOpName = requires {
  { Op::name } -> std::convertible_to<const char*>;
};
template <class Op>
concept HasSimilarity = requires(const RowFunctions<Op> row, float x) {
  { row.g(x) } -> std::same_as<float>;
};
template <class Op>
concept HasSimilarityDerivative = requires(const RowFunctions<Op> row, float x) {
  { row.dg(x) } -> std::same_as<float>;
};
template <class Op>
concept SumHasDerivative = requires(const RowFunctions<Op> row, float x) {
  requires SumsApart<Op> || !(
      requires { row.r(x); } || requires { row.dr(x); });
};
template <class Op>
concept DivisorHasDerivative = requires(const RowFunctions<Op> row, float S) {  // z(S, n) may be n alone
  requires DividesBySum<Op> || !(
      requires { row.z(S); } || requires { row.dz(S); });
};
template <class Op>
concept PostHasDerivative = requires(const Op op, float w) {
  requires HasPost<Op> || !(
      requires { op.post(w); } || requires { op.dpost(w); });
};

// A sentence for each that an operation lacks.
template <class Op>
consteval bool attention_functions_complete() {
  static_assert(
      HasOpName<Op>,
      "an attention operation has no name: give it `static constexpr const char* name`, which stands in every "
      "checkpoint");
  static_assert(
      HasSimilarity<Op>,
      "an attention operation has no g(x), the similarity of a score, in the type of x: write `SINK_HD static "
      "auto g(auto x)`");
  static_assert(HasSimilarityDerivative<Op>,
                "an attention operation has no dg(x), the derivative of g, in the type of x; backward needs it");
  static_assert(SumHasDerivative<Op>,
                "an attention operation has one of r(x) and dr(x), its derivative; it needs both or none");
  static_assert(
      DivisorHasDerivative<Op>,
      "an attention operation has one of z(S) and dz(S), its derivative; it needs both or none (z(S, n) alone "
      "is for divisors that do not depend on S)");
  static_assert(PostHasDerivative<Op>,
                "an attention operation has one of post(w) and dpost(w), its derivative; it needs both or none");
  return true;
}

// m_i before any key is seen, of n_i; ShiftsByMax raises it by raised_m.
template <class R, class Op>
SINK_HD R first_m(const Op& op, R n) {
  if constexpr (requires { op.m_of_count(n); }) {
    return op.m_of_count(n);
  } else if constexpr (ShiftsByMax<Op>) {
    return op.m_of_max(std::numeric_limits<R>::lowest());
  } else {
    return R(0);
  }
}
template <class R, class Op>
SINK_HD R raised_m(const Op& op, R m, R largest_score) {
  if constexpr (ShiftsByMax<Op>) {
    R raised = op.m_of_max(largest_score);
    return raised > m ? raised : m;
  } else {
    return m;
  }
}

// What |a_ij| is divided by to score a row through proxy weights.
template <class Op, class R>
SINK_HD R proxy_divisor(const Op& op, R absolute_mass, R z) {
  if constexpr (requires { op.proxy_divisor(absolute_mass, z); }) {
    return op.proxy_divisor(absolute_mass, z);
  } else {
    return absolute_mass + R(kSumEpsilon);
  }
}

// The row with shift m; S and n as far as z is asked for.
template <class Op, class R>
class AttentionRow {
 public:
  R m, S, n;

  SINK_HD AttentionRow(const Op& op, R m, R S = 0, R n = 0) : m(m), S(S), n(n), op_(op), row_(row_functions(op, m)) {}

  // Of x = s - m.
  SINK_HD R g(R x) const { return row_.g(x); }
  SINK_HD R dg(R x) const { return row_.dg(x); }
  SINK_HD R r(R x) const {
    if constexpr (SumsApart<Op>) {
      return row_.r(x);
    } else {
      return row_.g(x);
    }
  }
  SINK_HD R dr(R x) const {
    if constexpr (SumsApart<Op>) {
      return row_.dr(x);
    } else {
      return row_.dg(x);
    }
  }
  SINK_HD R z() const {
    if constexpr (!HasDivisor<Op>) {
      return R(1);
    } else if constexpr (requires { row_.z(S, n); }) {
      return row_.z(S, n);
    } else {
      return row_.z(S);
    }
  }
  SINK_HD R dz() const {
    if constexpr (DividesBySum<Op>) {
      return row_.dz(S);
    } else {
      return R(0);
    }
  }
  // Of a weight w = g(x) / z.
  SINK_HD R post(R w) const {
    if constexpr (HasPost<Op>) {
      return op_.post(w);
    } else {
      return w;
    }
  }
  SINK_HD R dpost(R w) const {
    if constexpr (HasPost<Op>) {
      return op_.dpost(w);
    } else {
      return R(1);
    }
  }
  // By what g and r grow when d is added to x, for operations that have m_of_max.
  SINK_HD R g_factor(R d) const { return exp_fast(d); }
  SINK_HD R r_factor(R d) const {
    if constexpr (requires { row_.r_factor(d); }) {
      return row_.r_factor(d);
    } else {
      return exp_fast(d);
    }
  }

 private:
  Op op_;
  RowFunctions<Op, R> row_;
};

}  // namespace sink
