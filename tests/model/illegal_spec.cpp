// Specs and policies that must not compile, each with a message: CTest compiles this file once per case
// and looks for it.
#include "model/ablation_of.h"

namespace sink::ablations {

#ifdef SINK_KEY_WITHOUT_DIVISOR
struct illegal : bias_k {
  using Attention = Sigmoid;
};
#elif defined(SINK_GATE_ON_ADDED_HEADS)
struct illegal : head_add {
  using Gate = HeadGate;
};
#elif defined(SINK_KIND_MISSING)
struct illegal {
  using Position = Rotary;
  using Attention = Softmax;
};
#elif defined(SINK_NO_NAME)
struct Nameless : PositionDefaults {
  explicit Nameless(ParameterFactory&) {}
};
struct illegal : baseline {
  using Position = Nameless;
};
#elif defined(SINK_NAME_OF_ANOTHER_TYPE)
struct Constant : NoGate {
  static constexpr const char* name = "Constant";
  using NoGate::NoGate;
};
struct illegal : baseline {
  using Gate = Constant;
};
#elif defined(SINK_CHECK_OF_A_NUMBER)
struct Narrow : Rotary {
  static void check(std::int64_t head_width) { SINK_CHECK(head_width < 64, "narrow", "too wide", Exit::usage); }
  using Rotary::Rotary;
};
struct illegal : baseline {
  using Position = Narrow;
};
#elif defined(SINK_POSITION_WITHOUT_ROTATE)
struct Unrotated {
  static std::string name() { return "Unrotated"; }
  explicit Unrotated(ParameterFactory&) {}
  Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
  Var bias(const ForwardContext&) const { return {}; }
};
struct illegal : baseline {
  using Position = Unrotated;
};
#elif defined(SINK_POSITION_NOT_CONST)
struct Counting : PositionDefaults {
  static std::string name() { return "Counting"; }
  explicit Counting(ParameterFactory&) {}
  Var rotate(const Var& x_BHTD, const ForwardContext&) { return ++calls_, x_BHTD; }
  int calls_ = 0;
};
struct illegal : baseline {
  using Position = Counting;
};
#elif defined(SINK_PLACEMENT_WITHOUT_CONTEXT)
struct NoContext : PreNorm {
  static std::string name() { return "NoContext"; }
  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention&, const FeedForward&) {
    return x_BTC;
  }
};
struct illegal : baseline {
  using Placement = NoContext;
};
#elif defined(SINK_NORM_OF_ONE_TYPE)
struct OneType {
  static std::string name() { return "OneType"; }
  OneType(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& x) const { return x; }
};
struct illegal : baseline {
  using Norm = OneType;
};
#elif defined(SINK_FEED_FORWARD_WITHOUT_RESULT)
struct Forgetful {
  static std::string name() { return "Forgetful"; }
  Forgetful(ParameterFactory&, const std::string&) {}
  void operator()(const Var&) const {}
};
struct illegal : baseline {
  using FeedForward = Forgetful;
};
#elif defined(SINK_HEADS_WITHOUT_WIDTH)
struct Widthless {
  static std::string name() { return "Widthless"; }
  static Var join(const Var& o_BHTD) { return o_BHTD; }
};
struct illegal : baseline {
  using Heads = Widthless;
};
#elif defined(SINK_QUERY_NORM_ALONE)
struct QueriesOnly {
  static std::string name() { return "QueriesOnly"; }
  QueriesOnly(ParameterFactory&, const std::string&) {}
  Var query(const Var& q_BHTD, const ForwardContext&) const { return q_BHTD; }
};
struct illegal : baseline {
  using QueryKeyNorm = QueriesOnly;
};
#elif defined(SINK_FEATURES_WITHOUT_PREFIX)
struct Unnamed {
  static std::string name() { return "Unnamed"; }
  explicit Unnamed(ParameterFactory&) {}
  Var operator()(const Var& x_BHTD) const { return x_BHTD; }
};
struct illegal : baseline {
  using Features = Unnamed;
};
#elif defined(SINK_EXTRA_WITHOUT_TOKENS)
struct Tokenless {
  static constexpr std::int64_t kTokens = 1;
  static constexpr bool kExtraKey = false, kExtraKeyHasValue = false;
  static std::string name() { return "Tokenless"; }
  Tokenless(ParameterFactory&, const std::string&) {}
  ExtraKeyVars extra_key() const { return {}; }
  Var output(const Var& o_BHTD) const { return o_BHTD; }
};
struct illegal : baseline {
  using Extra = Tokenless;
};
#elif defined(SINK_GATE_WITHOUT_INPUT)
struct Blind {
  static std::string name() { return "Blind"; }
  Blind(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& o_BTE) const { return o_BTE; }
};
struct illegal : baseline {
  using Gate = Blind;
};
#elif defined(SINK_BIAS_WITHOUT_OUT)
struct Half {
  static std::string name() { return "Half"; }
  static constexpr bool kQkv = true, kFeedForward = false;
};
struct illegal : baseline {
  using LinearBias = Half;
};
#elif defined(SINK_UNEMBEDDING_OF_NOTHING)
struct Lost {
  static std::string name() { return "Lost"; }
  static const Parameter& weight(ParameterFactory& make) { return make.linear("lost", 1, 1); }
};
struct illegal : baseline {
  using Unembedding = Lost;
};
#else
using illegal = bias_k;  // compiles: the cases above fail for their own reason
#endif

}  // namespace sink::ablations

sink::Ablation made = sink::ablation_of<sink::ablations::illegal>("illegal");
