// Attention operations that must not compile, each with its error message (tests/refused_code.py says how it is
// looked for). Every function has a case with a mistyped name.
#include "engine/ops/attention/op/attention_op_check.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"

namespace sink {

struct Legal : PNormExp {};
static_assert(attention_op_is_complete<Legal>());  // compiles

struct NotDerived {
  static auto g(auto x) { return x; }
  static auto dg(auto x) { return x; }
};
static_assert(attention_op_is_complete<NotDerived>());  // refused: does not derive from AttentionOpDefaults

struct NoG : AttentionOpDefaults {
  static auto dg(auto x) { return x; }
};
static_assert(attention_op_is_complete<NoG>());  // refused: has no g.x., the similarity of a score

struct GInDouble : AttentionOpDefaults {
  static auto g(auto x) { return 2.0 * x; }
  static auto dg(auto x) { return x; }
};
static_assert(attention_op_is_complete<GInDouble>());  // refused: has no g.x., the similarity of a score, in the type of x

struct GOfOneType : AttentionOpDefaults {
  static float g(float x) { return x; }
};
static_assert(attention_op_is_complete<GOfOneType>());  // refused: has g.x. of one type only, so that the compiler cannot derive it

struct DgInDouble : AttentionOpDefaults {
  static auto g(auto x) { return x; }
  static auto dg(auto x) { return 1.0; }
};
static_assert(attention_op_is_complete<DgInDouble>());  // refused: has a derivative dg.x. that is not in the type of x

struct ZMistyped : Relu {
  static constexpr Normalizer normalizer = Normalizer::sum;
  static auto Z(auto S) { return S; }
  static auto dz(auto S) { return S / S; }
};
static_assert(attention_op_is_complete<ZMistyped>());  // refused: Normalizer::sum. and lacks z.S. in the type of S.*is a name mistyped

struct ZOfOneType : Relu {
  static constexpr Normalizer normalizer = Normalizer::sum;
  static float z(float S) { return S; }
};
static_assert(attention_op_is_complete<ZOfOneType>());  // refused: has z.S. of one type only, so that the compiler cannot derive it

struct ZNotStated : Relu {
  static auto z(auto S) { return S; }
  static auto dz(auto S) { return S / S; }
};
static_assert(attention_op_is_complete<ZNotStated>());  // refused: has z.S. in the type of S, which has no effect: state

struct NormalizerMistyped : Relu {
  static constexpr Normalizer normaliser = Normalizer::sum;
  static auto z(auto S) { return S; }
  static auto dz(auto S) { return S / S; }
};
static_assert(attention_op_is_complete<NormalizerMistyped>());  // refused: has z.S. in the type of S, which has no effect: state

struct DzNotStated : ReluN {
  static auto dz(auto S) { return S / S; }
};
static_assert(attention_op_is_complete<DzNotStated>());  // refused: has z.S. in the type of S, which has no effect: state

struct ZOfCountMistyped : Relu {
  static constexpr Normalizer normalizer = Normalizer::key_count;
  static auto z_of_count(auto n) { return n; }
};
static_assert(attention_op_is_complete<ZOfCountMistyped>());  // refused: Normalizer::key_count. and lacks z.n.*is a name mistyped

struct RMistyped : Relu {
  static constexpr bool has_separate_normalizer = true;
  static auto rr(auto x) { return x * x; }
  static auto dr(auto x) { return x + x; }
};
static_assert(attention_op_is_complete<RMistyped>());  // refused: has_separate_normalizer = true. and lacks r.x. in the type of x.*is a name mistyped

struct RNotStated : Relu {
  static auto r(auto x) { return x * x; }
};
static_assert(attention_op_is_complete<RNotStated>());  // refused: has r.x. in the type of x, which has no effect: state

struct RFactorMissing : Softmax {
  static constexpr bool has_separate_normalizer = true;
  static auto r(auto x) { return exp_fast(x + x); }
  static auto dr(auto x) { return r(x) + r(x); }
};
static_assert(attention_op_is_complete<RFactorMissing>());  // refused: Shift::row_max. and lacks r_factor.d.

struct RFactorWithoutR : Softmax {
  static auto r_factor(auto d) { return exp_fast(d); }
};
static_assert(attention_op_is_complete<RFactorWithoutR>());  // refused: has r_factor.d.*, which has no effect

struct MOfMaxMistyped : Relu {
  static constexpr Shift shift = Shift::row_max;
  static auto m_of_maximum(auto s) { return s; }
};
static_assert(attention_op_is_complete<MOfMaxMistyped>());  // refused: Shift::row_max. and lacks m_of_max.s.*is a name mistyped

struct MOfMaxNotStated : Relu {
  static auto m_of_max(auto s) { return s; }
};
static_assert(attention_op_is_complete<MOfMaxNotStated>());  // refused: has m_of_max.s.*, which has no effect: state

struct MOfCountMistyped : Relu {
  static constexpr Shift shift = Shift::key_count;
  static auto m_of_n(auto n) { return n; }
};
static_assert(attention_op_is_complete<MOfCountMistyped>());  // refused: Shift::key_count. and lacks m_of_count.n.*is a name mistyped

struct MOfCountNotStated : Relu {
  static auto m_of_count(auto n) { return n; }
};
static_assert(attention_op_is_complete<MOfCountNotStated>());  // refused: has m_of_count.n.*, which has no effect: state

struct ThresholdStartMistyped : Relu {
  static constexpr Shift shift = Shift::threshold;
  static auto threshold_begin(auto s) { return s - decltype(s)(1); }
};
static_assert(attention_op_is_complete<ThresholdStartMistyped>());  // refused: Shift::threshold. and lacks threshold_start.s.*is a name mistyped

struct ThresholdStartNotStated : Relu {
  static auto threshold_start(auto s) { return s - decltype(s)(1); }
};
static_assert(attention_op_is_complete<ThresholdStartNotStated>());  // refused: has threshold_start.s.*, which has no effect: state

struct ThresholdWithNormalizer : DividedBySumOf<Sparsemax> {};
static_assert(attention_op_is_complete<ThresholdWithNormalizer>());  // refused: with Shift::threshold states a normalizer

struct PostMistyped : Relu {
  static constexpr bool has_post = true;
  static auto pots(auto w) { return w + w; }
};
static_assert(attention_op_is_complete<PostMistyped>());  // refused: has_post = true. and lacks post.w. in the type of w.*is a name mistyped

struct PostNotStated : Relu {
  static float post(float w) { return w / 2; }
};
static_assert(attention_op_is_complete<PostNotStated>());  // refused: has post.w. in the type of w, which has no effect: state

struct RowMistyped : Relu {
  static constexpr bool has_row_functions = true;
  static Relu rows(auto) { return {}; }
};
static_assert(attention_op_is_complete<RowMistyped>());  // refused: has_row_functions = true. and lacks row.m.*is a name mistyped

struct ROfRowMistyped : Softpick {
  struct Row {
    static float g(float x) { return x; }
    static float dg(float x) { return x; }
    static float rr(float x) { return x; }
    static float dr(float x) { return x; }
    static float r_factor(float d) { return d; }
    static float z(float S) { return S; }
    static float dz(float) { return 1; }
  };
  static Row row(float) { return {}; }
};
static_assert(attention_op_is_complete<ROfRowMistyped>());  // refused: has_separate_normalizer = true. and lacks r.x. in the type of x.*is a name mistyped

struct ProxyDivisorMistyped : Relu {
  static constexpr bool has_proxy_divisor = true;
  static auto proxy_divider(auto A, auto) { return A; }
};
static_assert(attention_op_is_complete<ProxyDivisorMistyped>());  // refused: has_proxy_divisor = true. and lacks proxy_divisor.*is a name mistyped

struct ProxyDivisorNotStated : Relu {
  static auto proxy_divisor(auto A, auto) { return A; }
};
static_assert(attention_op_is_complete<ProxyDivisorNotStated>());  // refused: has proxy_divisor.*, which has no effect: state

}  // namespace sink
