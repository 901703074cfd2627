// One row of attention with an operation: its functions, the defaults of those that it does not have, and the
// derivatives, its own or derived (engine/dual.h). The reference, kernels and tests call operations only through this
// file.
#pragma once

#include <limits>
#include <utility>

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// The properties of an operation that kernels use at compile time.
template <class Op>
concept ShiftsByMax = Op::shift == Shift::row_max;
template <class Op>
concept DividesBySum = Op::normalizer == Normalizer::sum;
template <class Op>
concept HasSeparateNormalizer = Op::has_separate_normalizer;
template <class Op>
concept HasPost = Op::has_post;
template <class Op>
concept ShiftsByThreshold = Op::shift == Shift::threshold;

// Every weight of a row depends on all of its scores, through S or through the threshold.
template <class Op>
concept NormalizesRows = DividesBySum<Op> || ShiftsByThreshold<Op>;
// Weights are known only after m and S of the whole row, not even up to a factor before. D_i is then not do_i . o_i.
template <class Op>
concept NeedsWholeRow = HasPost<Op> || ShiftsByThreshold<Op>;

// Shift::row_max says that g(x) is a multiple of e^x; of these operations it is e^x, and a = e^(x - log z). Not of
// those with a post, whose derivative jumps: all kernels must round w alike.
template <class Op>
concept IsExponential = ShiftsByMax<Op> && DividesBySum<Op> && !HasSeparateNormalizer<Op> && !HasPost<Op>;

// The object that has g, r and z for a row with shift m: op.row(m), or the operation itself.
template <class Op, class R>
SINK_HD auto row_functions(const Op& op, R m) {
  if constexpr (Op::has_row_functions) {
    return op.row(m);
  } else {
    return op;
  }
}
template <class Op, class R = float>
using RowFunctions = decltype(row_functions(std::declval<const Op&>(), R{}));

// m of a row of n keys before any score. Where the operation shifts by the row maximum, raised_m updates it with each
// score or with the largest of several.
template <class R, class Op>
SINK_HD R first_m(const Op& op, R n) {
  if constexpr (Op::shift == Shift::key_count) {
    return op.m_of_count(n);
  } else if constexpr (Op::shift == Shift::row_max) {
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

// A limit of the steps of Newton's method from threshold_start to m. f(m) = sum_j g(s_j - m) - 1 is convex and
// decreasing, so no step goes beyond m, and each divides f f' by 4 or more: n scores need at most log4(n^2 / epsilon)
// steps, 31 for n = 2^19 in float. Mostly it is four to ten.
inline constexpr int kThresholdSteps = 64;

// The divisor of |a_ij| in the proxy weights of a row.
template <class Op, class R>
SINK_HD R proxy_divisor(const Op& op, R absolute_sum, R z) {
  if constexpr (Op::has_proxy_divisor) {
    return op.proxy_divisor(absolute_sum, z);
  } else {
    return absolute_sum + R(kSumEpsilon);
  }
}

// The row with shift m. Only z() and dz() need S and n.
template <class Op, class R>
class AttentionRow {
 public:
  R m, S, n;

  SINK_HD AttentionRow(const Op& op, R m, R S = 0, R n = 0) : m(m), S(S), n(n), op_(op), row_(row_functions(op, m)) {}

  // Functions of x = s - m.
  SINK_HD R g(R x) const { return row_.g(x); }
  SINK_HD R dg(R x) const {
    if constexpr (requires { row_.dg(x); }) {
      return row_.dg(x);
    } else {
      return dual_row().g(Dual<R>(x, R(1))).slope;
    }
  }
  SINK_HD R r(R x) const {
    if constexpr (HasSeparateNormalizer<Op>) {
      return row_.r(x);
    } else if constexpr (ShiftsByThreshold<Op>) {
      return dg(x);
    } else {
      return row_.g(x);
    }
  }
  // The derivative of what z (or the threshold) depends on: of r, or of g where m is a threshold.
  SINK_HD R dr(R x) const {
    if constexpr (!HasSeparateNormalizer<Op>) {
      return dg(x);
    } else if constexpr (requires { row_.dr(x); }) {
      return row_.dr(x);
    } else {
      return dual_row().r(Dual<R>(x, R(1))).slope;
    }
  }
  SINK_HD R z() const {
    if constexpr (Op::normalizer == Normalizer::sum) {
      return row_.z(S);
    } else if constexpr (Op::normalizer == Normalizer::key_count) {
      return row_.z(n);
    } else {
      return R(1);
    }
  }
  // What D_i is multiplied by in ds_ij: z', or 1 / S where m is a threshold.
  SINK_HD R dz() const {
    if constexpr (ShiftsByThreshold<Op>) {
      return R(1) / S;
    } else if constexpr (!DividesBySum<Op>) {
      return R(0);
    } else if constexpr (requires { row_.dz(S); }) {
      return row_.dz(S);
    } else {
      return dual_row().z(Dual<R>(S, R(1))).slope;
    }
  }
  // Functions of w = g(x) / z.
  SINK_HD R post(R w) const {
    if constexpr (HasPost<Op>) {
      return op_.post(w);
    } else {
      return w;
    }
  }
  SINK_HD R dpost(R w) const {
    if constexpr (!HasPost<Op>) {
      return R(1);
    } else if constexpr (requires { op_.dpost(w); }) {
      return op_.dpost(w);
    } else {
      return op_.post(Dual<R>(w, R(1))).slope;
    }
  }
  // The factor of dw_ij in D_i, for x and w = g(x) / z: w, or g'(x) where m is a threshold.
  SINK_HD R in_D(R x, R w) const {
    if constexpr (ShiftsByThreshold<Op>) {
      return dg(x);
    } else {
      return w;
    }
  }
  // The factors g(x + d) / g(x) and r(x + d) / r(x), for operations that shift by the row maximum.
  SINK_HD R g_factor(R d) const { return exp_fast(d); }
  SINK_HD R r_factor(R d) const {
    if constexpr (HasSeparateNormalizer<Op> && ShiftsByMax<Op>) {
      return row_.r_factor(d);
    } else {
      return exp_fast(d);
    }
  }

 private:
  // The functions on values with derivatives; m is a constant.
  SINK_HD auto dual_row() const { return row_functions(op_, Dual<R>(m, R(0))); }

  Op op_;
  RowFunctions<Op, R> row_;
};

}  // namespace sink
