// Compile-time checks that an attention operation has the functions of the properties that it states (attention_op.h),
// and no others. Each mistake is one error: a function is missing or mistyped, or has no effect.
#pragma once

#include <concepts>
#include <type_traits>

#include "engine/ops/attention/op/attention_row.h"

namespace sink {

// defines_g<F>: F has g(x), which returns the type of x. calls_g<F>: F has any function g of one argument.
// derives_g<F>: F has g(x) for the dual numbers, of which the compiler takes the derivative.
#define SINK_OP_FUNCTION(function)                                  \
  template <class F>                                                \
  concept defines_##function = requires(const F f, float x) {       \
    { f.function(x) } -> std::same_as<float>;                       \
  };                                                                \
  template <class F>                                                \
  concept calls_##function = requires(const F f, float x) {         \
    f.function(x);                                                  \
  };                                                                \
  template <class F>                                                \
  concept derives_##function = requires(const F f, Dual<float> x) { \
    { f.function(x) } -> std::same_as<Dual<float>>;                 \
  };
SINK_OP_FUNCTION(m_of_max)
SINK_OP_FUNCTION(m_of_count)
SINK_OP_FUNCTION(threshold_start)
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

// An operation that states the property has all of its functions; any other operation has none of them.
#define SINK_OP_PROPERTY(stated, statement, functions, has_all, has_any)                             \
  static_assert(!(stated) || (has_all), "an attention operation states `static constexpr " statement \
                                        "` and lacks " functions ": is a name mistyped?");           \
  static_assert((stated) || !(has_any), "an attention operation has " functions                      \
                                        ", which has no effect: state `static constexpr " statement "`")

// The functions of a row of dual numbers, where row(m) takes them.
template <class Op>
struct DualFunctions {
  struct None {};
  using type = None;
};
template <class Op>
requires(!Op::has_row_functions) || requires(const Op op, Dual<float> m) { op.row(m); }
struct DualFunctions<Op> {
  using type = RowFunctions<Op, Dual<float>>;
};

// Of a function that is there: F, that takes float, has its derivative, or Of, that takes dual numbers, gives it.
#define SINK_OP_DERIVATIVE_OF(stated, F, Of, f, df, x)                                               \
  static_assert(!(stated) || !defines_##f<F> || calls_##df<F> || derives_##f<Of>,                    \
                "an attention operation has " #f "(" x                                               \
                ") of one type only, so that the compiler cannot derive it: "                        \
                "write `SINK_HD static auto " #f "(auto " x ")`, or its derivative " #df "(" x ")"); \
  static_assert(!(stated) || !calls_##df<F> || defines_##df<F>,                                      \
                "an attention operation has a derivative " #df "(" x ") that is not in the type of " x)
#define SINK_OP_DERIVATIVE(stated, f, df, x) SINK_OP_DERIVATIVE_OF(stated, F, DualF, f, df, x)

template <class Op>
consteval bool attention_op_is_complete() {
  static_assert(std::is_base_of_v<AttentionOpDefaults, Op>,
                "an attention operation does not derive from AttentionOpDefaults, which has the defaults of its "
                "properties");
  SINK_OP_PROPERTY(Op::has_row_functions, "bool has_row_functions = true", "row(m)", calls_row<Op>, calls_row<Op>);
  using F = RowFunctions<Op>;
  using DualF = typename DualFunctions<Op>::type;
  static_assert(defines_g<F>,
                "an attention operation has no g(x), the similarity of a score, in the type of x: write "
                "`SINK_HD static auto g(auto x)`");
  SINK_OP_DERIVATIVE(true, g, dg, "x");

  constexpr bool by_max = Op::shift == Shift::row_max, by_count = Op::shift == Shift::key_count;
  SINK_OP_PROPERTY(by_max, "Shift shift = Shift::row_max", "m_of_max(s) in the type of s", defines_m_of_max<Op>,
                   calls_m_of_max<Op>);
  SINK_OP_PROPERTY(by_count, "Shift shift = Shift::key_count", "m_of_count(n) in the type of n", defines_m_of_count<Op>,
                   calls_m_of_count<Op>);

  constexpr bool by_threshold = Op::shift == Shift::threshold;
  SINK_OP_PROPERTY(by_threshold, "Shift shift = Shift::threshold", "threshold_start(s) in the type of s",
                   defines_threshold_start<Op>, calls_threshold_start<Op>);
  static_assert(!by_threshold || (Op::normalizer == Normalizer::none && !Op::has_separate_normalizer),
                "an attention operation with Shift::threshold states a normalizer: its rows sum to one already");

  constexpr bool by_sum = Op::normalizer == Normalizer::sum, by_n = Op::normalizer == Normalizer::key_count;
  SINK_OP_PROPERTY(by_sum, "Normalizer normalizer = Normalizer::sum", "z(S) in the type of S", defines_z<F>,
                   calls_dz<F> || (calls_z<F> && !by_n));
  SINK_OP_PROPERTY(by_n, "Normalizer normalizer = Normalizer::key_count", "z(n) in the type of n", defines_z<F>, false);
  SINK_OP_DERIVATIVE(by_sum, z, dz, "S");

  constexpr bool separate = Op::has_separate_normalizer;
  SINK_OP_PROPERTY(separate, "bool has_separate_normalizer = true", "r(x) in the type of x", defines_r<F>,
                   calls_r<F> || calls_dr<F>);
  SINK_OP_DERIVATIVE(separate, r, dr, "x");
  SINK_OP_PROPERTY(separate && by_max, "bool has_separate_normalizer = true` with `Shift shift = Shift::row_max",
                   "r_factor(d) = r(x + d) / r(x) in the type of d", defines_r_factor<F>, calls_r_factor<F>);
  SINK_OP_PROPERTY(Op::has_post, "bool has_post = true", "post(w) in the type of w", defines_post<Op>,
                   calls_post<Op> || calls_dpost<Op>);
  SINK_OP_DERIVATIVE_OF(Op::has_post, Op, Op, post, dpost, "w");
  SINK_OP_PROPERTY(Op::has_proxy_divisor, "bool has_proxy_divisor = true", "proxy_divisor(A, z)",
                   calls_proxy_divisor<Op>, calls_proxy_divisor<Op>);
  return true;
}
#undef SINK_OP_PROPERTY
#undef SINK_OP_DERIVATIVE
#undef SINK_OP_DERIVATIVE_OF

}  // namespace sink
