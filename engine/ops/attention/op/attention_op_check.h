// Refuses an attention operation whose functions are not those that it states (attention_op_defaults.h), with one
// sentence for each mistake: a function that is missing or mistyped, or one that would have no effect.
#pragma once

#include <concepts>
#include <type_traits>

#include "engine/ops/attention/op/attention_row.h"

namespace sink {

// defines_g<F>: F has g(x), in the type of x. calls_g<F>: F has some function of this name.
#define SINK_OP_FUNCTION(function)                            \
  template <class F>                                          \
  concept defines_##function = requires(const F f, float x) { \
    { f.function(x) } -> std::same_as<float>;                 \
  };                                                          \
  template <class F>                                          \
  concept calls_##function = requires(const F f, float x) {   \
    f.function(x);                                            \
  };
SINK_OP_FUNCTION(m_of_max)
SINK_OP_FUNCTION(m_of_count)
SINK_OP_FUNCTION(g)
SINK_OP_FUNCTION(dg)
SINK_OP_FUNCTION(r)
SINK_OP_FUNCTION(dr)
SINK_OP_FUNCTION(r_factor)
SINK_OP_FUNCTION(z)
SINK_OP_FUNCTION(dz)
SINK_OP_FUNCTION(post)
SINK_OP_FUNCTION(dpost)
SINK_OP_FUNCTION(row)
#undef SINK_OP_FUNCTION
template <class Op>
concept calls_proxy_divisor = requires(const Op op, float x) {
  op.proxy_divisor(x, x);
};

template <class Op>
consteval bool attention_op_is_complete() {
  static_assert(std::is_base_of_v<AttentionOpDefaults, Op>,
                "an attention operation does not derive from AttentionOpDefaults, which has what it does not state");
  static_assert(Op::name != nullptr,
                "an attention operation has no name: give it `static constexpr const char* name`, which is stored in "
                "every checkpoint");
  static_assert(Op::has_row_functions == calls_row<Op>,
                "an attention operation states `has_row_functions = true` without row(m), or has row(m) without "
                "stating it: is a name mistyped?");
  using F = RowFunctions<Op>;
  static_assert(defines_g<F>,
                "an attention operation has no g(x), the similarity of a score, in the type of x: write "
                "`SINK_HD static auto g(auto x)`");
  static_assert(defines_dg<F>, "an attention operation has no dg(x), the derivative of g, in the type of x");

  constexpr bool by_max = Op::shift == Shift::row_max, by_count = Op::shift == Shift::key_count;
  static_assert(!by_max || defines_m_of_max<Op>,
                "an attention operation states `shift = Shift::row_max` and has no m_of_max(s) in the type of s: is "
                "its name mistyped?");
  static_assert(by_max || !calls_m_of_max<Op>,
                "an attention operation has m_of_max(s), which has no effect: state `static constexpr Shift shift = "
                "Shift::row_max`");
  static_assert(!by_count || defines_m_of_count<Op>,
                "an attention operation states `shift = Shift::key_count` and has no m_of_count(n) in the type of n: "
                "is its name mistyped?");
  static_assert(by_count || !calls_m_of_count<Op>,
                "an attention operation has m_of_count(n), which has no effect: state `static constexpr Shift shift = "
                "Shift::key_count`");

  constexpr bool sum = Op::normalizer == Normalizer::sum, count = Op::normalizer == Normalizer::key_count;
  static_assert(!sum || (defines_z<F> && defines_dz<F>),
                "an attention operation states `normalizer = Normalizer::sum` and lacks z(S) or dz(S), its derivative, "
                "in the type of S: is a name mistyped?");
  static_assert(!count || defines_z<F>,
                "an attention operation states `normalizer = Normalizer::key_count` and has no z(n) in the type of n: "
                "is its name mistyped?");
  static_assert(
      (sum || count || !calls_z<F>)&&(sum || !calls_dz<F>),
      "an attention operation has z or dz, which has no effect: state `static constexpr Normalizer normalizer "
      "= Normalizer::sum`, or Normalizer::key_count for z(n) alone");

  constexpr bool separate = Op::has_separate_normalizer;
  static_assert(!separate || (defines_r<F> && defines_dr<F>),
                "an attention operation states `has_separate_normalizer = true` and lacks r(x) or dr(x), its "
                "derivative, in the type of x: is a name mistyped?");
  static_assert(separate || !(calls_r<F> || calls_dr<F>),
                "an attention operation has r(x) or dr(x), which has no effect: state `static constexpr bool "
                "has_separate_normalizer = true`");
  static_assert(!(separate && by_max) || defines_r_factor<F>,
                "an attention operation sums r and shifts by the row maximum, and has no r_factor(d) = r(x + d) / r(x) "
                "in the type of d: is its name mistyped?");
  static_assert((separate && by_max) || !calls_r_factor<F>,
                "an attention operation has r_factor(d), which has no effect without a separate normalizer and a shift "
                "by the row maximum");

  static_assert(!Op::has_post || (defines_post<Op> && defines_dpost<Op>),
                "an attention operation states `has_post = true` and lacks post(w) or dpost(w), its derivative, in the "
                "type of w: is a name mistyped?");
  static_assert(Op::has_post || !(calls_post<Op> || calls_dpost<Op>),
                "an attention operation has post(w) or dpost(w), which has no effect: state `static constexpr bool "
                "has_post = true`");
  static_assert(Op::has_proxy_divisor == calls_proxy_divisor<Op>,
                "an attention operation states `has_proxy_divisor = true` without proxy_divisor(A, z), or has "
                "proxy_divisor(A, z) without stating it: is a name mistyped?");
  return true;
}

}  // namespace sink
