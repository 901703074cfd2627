// Specs and policies that must not compile, each with a message (tests/refused_code.py says how it is looked for).
#include "model/ablation_of.h"

namespace sink::ablations {

struct legal : bias_k {};
Ablation made_legal = ablation_of<legal>("");  // compiles

struct key_without_divisor : bias_k {
  using Attention = Sigmoid;
};
Ablation made_key_without_divisor = ablation_of<key_without_divisor>("");  // refused: acts only through the divisor

struct gate_on_added_heads : head_add {
  using Gate = HeadGate;
};
Ablation made_gate_on_added_heads =
    ablation_of<gate_on_added_heads>("");  // refused: an output gate acts on heads that stand side by side

struct kind_missing {
  using Position = Rotary;
  using Attention = Softmax;
};
Ablation made_kind_missing = ablation_of<kind_missing>("");  // refused: a Spec names a policy of every kind

struct Nameless : PositionDefaults {
  explicit Nameless(ParameterFactory&) {}
};
struct no_name : baseline {
  using Position = Nameless;
};
Ablation made_no_name = ablation_of<no_name>("");  // refused: a policy has no name

struct Unmixed {
  static std::string name() { return "Unmixed"; }
};
struct mixer_without_layer : baseline {
  using Mixer = Unmixed;
};
Ablation made_mixer_without_layer = ablation_of<mixer_without_layer>("");  // refused: Mixer needs Layer<Attention>

struct Constant : NoGate {
  static constexpr const char* name = "Constant";
  using NoGate::NoGate;
};
struct name_of_another_type : baseline {
  using Gate = Constant;
};
Ablation made_name_of_another_type = ablation_of<name_of_another_type>("");  // refused: a policy has no name

struct Narrow : Rotary {
  static void check(std::int64_t head_width) { SINK_CHECK(head_width < 64, "narrow", "too wide", Exit::usage); }
  using Rotary::Rotary;
};
struct check_of_a_number : baseline {
  using Position = Narrow;
};
Ablation made_check_of_a_number = ablation_of<check_of_a_number>("");  // refused: check is not `static void check

struct Unrotated {
  static std::string name() { return "Unrotated"; }
  explicit Unrotated(ParameterFactory&) {}
  Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
  Var bias(const ForwardContext&) const { return {}; }
};
struct position_without_rotate : baseline {
  using Position = Unrotated;
};
Ablation made_position_without_rotate =
    ablation_of<position_without_rotate>("");  // refused: Position needs .*derive it from PositionDefaults

struct Counting : PositionDefaults {
  static std::string name() { return "Counting"; }
  explicit Counting(ParameterFactory&) {}
  Var rotate(const Var& x_BHTD, const ForwardContext&) { return ++calls_, x_BHTD; }
  int calls_ = 0;
};
struct position_not_const : baseline {
  using Position = Counting;
};
Ablation made_position_not_const = ablation_of<position_not_const>("");  // refused: Position needs .*each const

struct NoContext : PreNorm {
  static std::string name() { return "NoContext"; }
  template <class Attention, class FeedForward>
  static Var block(const Var& x_BTC, const Attention&, const FeedForward&) {
    return x_BTC;
  }
};
struct placement_without_context : baseline {
  using Placement = NoContext;
};
Ablation made_placement_without_context =
    ablation_of<placement_without_context>("");  // refused: Placement needs .*block.x, attention, feed_forward, ctx

struct OneType {
  static std::string name() { return "OneType"; }
  OneType(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& x) const { return x; }
};
struct norm_of_one_type : baseline {
  using Norm = OneType;
};
Ablation made_norm_of_one_type = ablation_of<norm_of_one_type>("");  // refused: Norm needs .*norm.x, type

struct Forgetful {
  static std::string name() { return "Forgetful"; }
  Forgetful(ParameterFactory&, const std::string&) {}
  void operator()(const Var&) const {}
};
struct feed_forward_without_result : baseline {
  using FeedForward = Forgetful;
};
Ablation made_feed_forward_without_result =
    ablation_of<feed_forward_without_result>("");  // refused: FeedForward needs .*giving a Var

struct Widthless {
  static std::string name() { return "Widthless"; }
  static Var join(const Var& o_BHTD) { return o_BHTD; }
};
struct heads_without_width : baseline {
  using Heads = Widthless;
};
Ablation made_heads_without_width = ablation_of<heads_without_width>("");  // refused: Heads needs .*width

struct QueriesOnly {
  static std::string name() { return "QueriesOnly"; }
  QueriesOnly(ParameterFactory&, const std::string&) {}
  Var query(const Var& q_BHTD, const ForwardContext&) const { return q_BHTD; }
};
struct query_norm_alone : baseline {
  using QueryKeyNorm = QueriesOnly;
};
Ablation made_query_norm_alone = ablation_of<query_norm_alone>("");  // refused: QueryKeyNorm needs .*key.k

struct Unnamed {
  static std::string name() { return "Unnamed"; }
  explicit Unnamed(ParameterFactory&) {}
  Var operator()(const Var& x_BHTD) const { return x_BHTD; }
};
struct features_without_prefix : baseline {
  using Features = Unnamed;
};
Ablation made_features_without_prefix = ablation_of<features_without_prefix>("");  // refused: Features needs .*prefix

struct Tokenless {
  static constexpr std::int64_t kTokens = 1;
  static constexpr bool kExtraKey = false, kExtraKeyHasValue = false;
  static std::string name() { return "Tokenless"; }
  Tokenless(ParameterFactory&, const std::string&) {}
  ExtraKeyVars extra_key() const { return {}; }
  Var output(const Var& o_BHTD) const { return o_BHTD; }
};
struct extra_without_tokens : baseline {
  using Extra = Tokenless;
};
Ablation made_extra_without_tokens =
    ablation_of<extra_without_tokens>("");  // refused: Extra needs .*derive it from ExtraDefaults

struct Blind {
  static std::string name() { return "Blind"; }
  Blind(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& o_BTE) const { return o_BTE; }
};
struct gate_without_input : baseline {
  using Gate = Blind;
};
Ablation made_gate_without_input = ablation_of<gate_without_input>("");  // refused: Gate needs .*gate.o, h

struct Half {
  static std::string name() { return "Half"; }
  static constexpr bool kQkv = true, kFeedForward = false;
};
struct bias_without_out : baseline {
  using LinearBias = Half;
};
Ablation made_bias_without_out = ablation_of<bias_without_out>("");  // refused: LinearBias needs .*kOut

struct Lost {
  static std::string name() { return "Lost"; }
  static const Parameter& weight(ParameterFactory& make) { return make.linear("lost", 1, 1); }
};
struct unembedding_of_nothing : baseline {
  using Unembedding = Lost;
};
Ablation made_unembedding_of_nothing =
    ablation_of<unembedding_of_nothing>("");  // refused: Unembedding needs .*token_embedding

}  // namespace sink::ablations
