// Attention operations that must not compile, each with its error message: CTest compiles this file once per case and
// searches for the message. Every function has a case with a mistyped name.
#include "engine/ops/attention/op/attention_op_check.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"

namespace sink {

#ifdef SINK_NOT_DERIVED
struct Illegal {
  static auto g(auto x) { return x; }
  static auto dg(auto x) { return x; }
};
#elif defined(SINK_NO_G)
struct Illegal : AttentionOpDefaults {
  static auto dg(auto x) { return x; }
};
#elif defined(SINK_G_IN_DOUBLE)
struct Illegal : AttentionOpDefaults {
  static auto g(auto x) { return 2.0 * x; }
  static auto dg(auto x) { return x; }
};
#elif defined(SINK_G_OF_ONE_TYPE)
struct Illegal : AttentionOpDefaults {
  static float g(float x) { return x; }
};
#elif defined(SINK_DG_IN_DOUBLE)
struct Illegal : AttentionOpDefaults {
  static auto g(auto x) { return x; }
  static auto dg(auto x) { return 1.0; }
};
#elif defined(SINK_Z_MISTYPED)
struct Illegal : Relu {
  static constexpr Normalizer normalizer = Normalizer::sum;
  static auto Z(auto S) { return S; }
  static auto dz(auto S) { return S / S; }
};
#elif defined(SINK_Z_OF_ONE_TYPE)
struct Illegal : Relu {
  static constexpr Normalizer normalizer = Normalizer::sum;
  static float z(float S) { return S; }
};
#elif defined(SINK_Z_NOT_STATED)
struct Illegal : Relu {
  static auto z(auto S) { return S; }
  static auto dz(auto S) { return S / S; }
};
#elif defined(SINK_NORMALIZER_MISTYPED)
struct Illegal : Relu {
  static constexpr Normalizer normaliser = Normalizer::sum;
  static auto z(auto S) { return S; }
  static auto dz(auto S) { return S / S; }
};
#elif defined(SINK_DZ_NOT_STATED)
struct Illegal : ReluN {
  static auto dz(auto S) { return S / S; }
};
#elif defined(SINK_Z_OF_COUNT_MISTYPED)
struct Illegal : Relu {
  static constexpr Normalizer normalizer = Normalizer::key_count;
  static auto z_of_count(auto n) { return n; }
};
#elif defined(SINK_R_MISTYPED)
struct Illegal : Relu {
  static constexpr bool has_separate_normalizer = true;
  static auto rr(auto x) { return x * x; }
  static auto dr(auto x) { return x + x; }
};
#elif defined(SINK_R_NOT_STATED)
struct Illegal : Relu {
  static auto r(auto x) { return x * x; }
};
#elif defined(SINK_R_FACTOR_MISSING)
struct Illegal : Softmax {
  static constexpr bool has_separate_normalizer = true;
  static auto r(auto x) { return exp_fast(x + x); }
  static auto dr(auto x) { return r(x) + r(x); }
};
#elif defined(SINK_R_FACTOR_WITHOUT_R)
struct Illegal : Softmax {
  static auto r_factor(auto d) { return exp_fast(d); }
};
#elif defined(SINK_M_OF_MAX_MISTYPED)
struct Illegal : Relu {
  static constexpr Shift shift = Shift::row_max;
  static auto m_of_maximum(auto s) { return s; }
};
#elif defined(SINK_M_OF_MAX_NOT_STATED)
struct Illegal : Relu {
  static auto m_of_max(auto s) { return s; }
};
#elif defined(SINK_M_OF_COUNT_MISTYPED)
struct Illegal : Relu {
  static constexpr Shift shift = Shift::key_count;
  static auto m_of_n(auto n) { return n; }
};
#elif defined(SINK_M_OF_COUNT_NOT_STATED)
struct Illegal : Relu {
  static auto m_of_count(auto n) { return n; }
};
#elif defined(SINK_THRESHOLD_START_MISTYPED)
struct Illegal : Relu {
  static constexpr Shift shift = Shift::threshold;
  static auto threshold_begin(auto s) { return s - decltype(s)(1); }
};
#elif defined(SINK_THRESHOLD_START_NOT_STATED)
struct Illegal : Relu {
  static auto threshold_start(auto s) { return s - decltype(s)(1); }
};
#elif defined(SINK_THRESHOLD_WITH_NORMALIZER)
struct Illegal : DividedBySumOf<Sparsemax> {};
#elif defined(SINK_POST_MISTYPED)
struct Illegal : Relu {
  static constexpr bool has_post = true;
  static auto pots(auto w) { return w + w; }
};
#elif defined(SINK_POST_NOT_STATED)
struct Illegal : Relu {
  static float post(float w) { return w / 2; }
};
#elif defined(SINK_ROW_MISTYPED)
struct Illegal : Relu {
  static constexpr bool has_row_functions = true;
  static Relu rows(auto) { return {}; }
};
#elif defined(SINK_R_OF_ROW_MISTYPED)
struct Illegal : Softpick {
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
#elif defined(SINK_PROXY_DIVISOR_MISTYPED)
struct Illegal : Relu {
  static constexpr bool has_proxy_divisor = true;
  static auto proxy_divider(auto A, auto) { return A; }
};
#elif defined(SINK_PROXY_DIVISOR_NOT_STATED)
struct Illegal : Relu {
  static auto proxy_divisor(auto A, auto) { return A; }
};
#else
struct Illegal : PNormExp {};  // compiles: the cases above fail for their own reason
#endif
static_assert(attention_op_is_complete<Illegal>());

}  // namespace sink
