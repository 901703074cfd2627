// The divisors that attention operations are made of: z of a row, and its derivative by the sum S.
#pragma once

#include <cmath>

namespace sink {

// What a divisor knows of a row.
template <class R>
struct AttentionRow {
  R m, S, n;
};

struct SumDivisor {
  static constexpr bool divides_by_sum = true;
  template <class R>
  static R z(const AttentionRow<R>& row) {
    return row.S;
  }
  template <class R>
  static R dz(const AttentionRow<R>&) {
    return R(1);
  }
};

inline constexpr double kDivisorEpsilon = 1e-8;  // as the study's code adds it to sums that may vanish

struct SumPlusEpsilonDivisor {
  static constexpr bool divides_by_sum = true;
  template <class R>
  static R z(const AttentionRow<R>& row) {
    return row.S + R(kDivisorEpsilon);
  }
  template <class R>
  static R dz(const AttentionRow<R>&) {
    return R(1);
  }
};

// max(|S|, 1)
struct MaxAbsDivisor {
  static constexpr bool divides_by_sum = true;
  template <class R>
  static R z(const AttentionRow<R>& row) {
    R size = std::abs(row.S);
    return size < R(1) ? R(1) : size;
  }
  template <class R>
  static R dz(const AttentionRow<R>& row) {
    return std::abs(row.S) > R(1) ? std::copysign(R(1), row.S) : R(0);
  }
};

struct NoDivisor {
  static constexpr bool divides_by_sum = false;
  template <class R>
  static R z(const AttentionRow<R>&) {
    return R(1);
  }
  template <class R>
  static R dz(const AttentionRow<R>&) {
    return R(0);
  }
};

struct CountDivisor {
  static constexpr bool divides_by_sum = false;
  template <class R>
  static R z(const AttentionRow<R>& row) {
    return row.n;
  }
  template <class R>
  static R dz(const AttentionRow<R>&) {
    return R(0);
  }
};

}  // namespace sink
