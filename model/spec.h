// Spec: the one struct that names a model's mathematics, a policy of every kind. An ablation derives from another and
// changes a line. Below: what each kind of policy requires, which policies do not go together, and what a Spec is
// called.
//
// Every policy has `static std::string name()`, without blanks. One that cannot work with all sizes has
// `static void check(const Sizes&)`, which throws Exit::usage with a sentence; what a policy may leave out stands in a
// base of defaults (PositionDefaults, ExtraDefaults). One that is made for every block is made as
// Policy(make, "blocks.<l>.attention" or "blocks.<l>.feed_forward"), and creates its parameters under that prefix.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "model/attention/constants.h"
#include "model/extra/extra_defaults.h"
#include "model/forward_context.h"
#include "model/gate/output_gate.h"
#include "model/heads/join_heads.h"
#include "model/parameter_factory.h"

namespace sink {

template <class S>
concept SpecLike = requires {
  typename S::Position;      // where order enters                          (model/position/)
  typename S::Placement;     // how a block puts norms and sublayers        (model/placement/)
  typename S::Norm;          // how they norm                               (model/norm/)
  typename S::FeedForward;   // the sublayer after attention                (model/feed_forward/)
  typename S::Heads;         // how the heads of attention join             (model/heads/)
  typename S::QueryKeyNorm;  // whether queries and keys are normed         (model/query_key_norm/)
  typename S::Features;      // what maps queries and keys before they meet (model/features/)
  typename S::Attention;     // similarity, divisor and their constants     (model/attention/constants.h)
  typename S::Extra;         // extra keys, values and tokens               (model/extra/)
  typename S::Gate;          // what gates the output of attention          (model/gate/)
  typename S::LinearBias;    // which products add a bias                   (model/linear_bias/)
  typename S::Unembedding;   // what gives the logits                       (model/unembedding/)
};

// f.operator()<Policy>(kind, usual) of every kind, as checkpoints name them; kinds with a `usual` policy are named only
// where it is another one.
template <SpecLike S, class F>
constexpr void for_each_policy(F&& f) {
  f.template operator()<typename S::Position>("position", "");
  f.template operator()<typename S::Placement>("placement", "");
  f.template operator()<typename S::Norm>("norm", "");
  f.template operator()<typename S::FeedForward>("feed_forward", "");
  f.template operator()<AttentionPolicy<typename S::Attention>>("attention", "");
  f.template operator()<typename S::Heads>("heads", "ConcatHeads");
  f.template operator()<typename S::QueryKeyNorm>("query_key_norm", "NoQueryKeyNorm");
  f.template operator()<typename S::Features>("features", "IdentityFeatures");
  f.template operator()<typename S::Extra>("extra", "NoExtra");
  f.template operator()<typename S::Gate>("gate", "NoGate");
  f.template operator()<typename S::LinearBias>("linear_bias", "NoLinearBias");
  f.template operator()<typename S::Unembedding>("unembedding", "OwnUnembedding");
}

template <class P>
concept Named = requires {
  { P::name() } -> std::same_as<std::string>;
};
template <class P>
concept ChecksSizes = !requires {
  &P::check;
}
|| requires(const Sizes& sizes) {
  { P::check(sizes) } -> std::same_as<void>;
};
template <class P>
concept MadePerBlock = std::constructible_from<P, ParameterFactory&, const std::string&>;

// Made once for a model. Tokens stand at ctx.documents.positions_BT (I32), or at 0 ... T - 1 where that is undefined.
// embed: what follows the token embedding; rotate: what happens to queries and keys of block ctx.layer before they
// meet; bias: numbers (H, T) by head and distance i - j that are added to scores, or an undefined Var. It may have
// split, too, a faster way to rotate (model/layer/positioned_heads.h).
template <class P>
concept PositionPolicy = std::constructible_from<P, ParameterFactory&> &&
    requires(const P& position, const Var& x, const ForwardContext& ctx) {
  { position.embed(x, ctx) } -> std::same_as<Var>;
  { position.rotate(x, ctx) } -> std::same_as<Var>;
  { position.bias() } -> std::same_as<Var>;
};

// norm(x) gives the precision of products, norm(x, type) another one; x is F32 or F64. of_sum gives a + b and its norm.
template <class N>
concept NormPolicy = MadePerBlock<N> && requires(const N& norm, const Var& x, DType type) {
  { norm(x) } -> std::same_as<Var>;
  { norm(x, type) } -> std::same_as<Var>;
  { norm.of_sum(x, x) } -> std::same_as<NormedSum>;
  { norm.of_sum(x, x, type) } -> std::same_as<NormedSum>;
};

// Made as FeedForward(make, prefix, biases): whether its products have them.
template <class F>
concept FeedForwardPolicy = std::constructible_from<F, ParameterFactory&, const std::string&, bool> &&
    requires(const F& feed_forward, const Var& h) {
  { feed_forward(h) } -> std::same_as<Var>;
};

// What a placement is given as its two sublayers (model/layer/sublayer.h).
template <class Norms>
struct AnyAttention : Norms {
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const;
};
template <class Norms>
struct AnyFeedForward : Norms {
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const;
};

// Norms<Norm>: the norms of one sublayer, which it then has as members; block: the residual stream after the block,
// from that before it, each a Var or a Residual (model/residual.h), and hooks see what it norms of it;
// kFinalNorm: whether the residual stream is normed before the unembedding.
template <class P, class Norm>
concept PlacementPolicy = MadePerBlock<typename P::template Norms<Norm>> &&
    requires(const Residual& x, const AnyAttention<typename P::template Norms<Norm>>& attention,
             const AnyFeedForward<typename P::template Norms<Norm>>& feed_forward, const ForwardContext& ctx) {
  { P::block(x, attention, feed_forward, ctx) } -> std::convertible_to<Residual>;
  { P::kFinalNorm } -> std::convertible_to<bool>;
};

// width: the length of a joined row; join: (B, H, T, D) to (B, T, width).
template <class H>
concept HeadsPolicy = requires(const Sizes& sizes, const Var& o) {
  { H::width(sizes) } -> std::same_as<std::int64_t>;
  { H::join(o) } -> std::same_as<Var>;
};

template <class N>
concept QueryKeyNormPolicy = MadePerBlock<N> && requires(const N& norm, const Var& x) {
  { norm.query(x) } -> std::same_as<Var>;
  { norm.key(x) } -> std::same_as<Var>;
};

template <class F>
concept FeaturesPolicy = MadePerBlock<F> && requires(const F& features, const Var& x) {
  { features(x) } -> std::same_as<Var>;
};

// kTokens learned tokens before every sequence (Tokens, made once for a model: embed puts them there, drop takes them
// away); kExtraKey: whether every query sees one key more, without position, which extra_key() gives, and
// kExtraKeyHasValue whether its value can differ from zero; output: what happens to the heads' outputs before they
// join.
template <class E>
concept ExtraPolicy = MadePerBlock<E> && std::constructible_from<typename E::Tokens, ParameterFactory&> &&
    requires(const E& extra, const typename E::Tokens& tokens, const Var& x, const ForwardContext& ctx) {
  { E::kTokens } -> std::convertible_to<std::int64_t>;
  { E::kExtraKey } -> std::convertible_to<bool>;
  { E::kExtraKeyHasValue } -> std::convertible_to<bool>;
  { extra.extra_key() } -> std::same_as<ExtraKeyVars>;
  { extra.output(x) } -> std::same_as<Var>;
  { tokens.embed(x, ctx) } -> std::same_as<Var>;
  { tokens.drop(x, ctx) } -> std::convertible_to<Residual>;
};

// gate(o, h): o (B, T, width) multiplied with what is computed from the sublayer's input h (B, T, C).
template <class G>
concept GatePolicy = MadePerBlock<G> && requires(const G& gate, const Var& o, const Var& h) {
  { gate(o, h) } -> std::same_as<Var>;
};

template <class B>
concept LinearBiasPolicy = requires {
  { B::kQkv } -> std::convertible_to<bool>;
  { B::kOut } -> std::convertible_to<bool>;
  { B::kFeedForward } -> std::convertible_to<bool>;
};

// weight: (V, C), a parameter of its own or the token embedding, which exists already.
template <class U>
concept UnembeddingPolicy = requires(ParameterFactory& make, const Parameter& token_embedding) {
  { U::weight(make, token_embedding) } -> std::same_as<const Parameter&>;
};

// Every policy of a Spec against its contract, then the combinations; a sentence for each that fails.
template <class S>
consteval bool contracts_hold() {
  static_assert(SpecLike<S>, "a Spec names a policy of every kind: derive it from ablations::baseline");
  if constexpr (SpecLike<S>) {
    for_each_policy<S>([]<class P>(const char*, const char*) {
      static_assert(Named<P>,
                    "a policy has no name: give it `static std::string name()`, which stands in every checkpoint");
      static_assert(ChecksSizes<P>,
                    "a policy's check is not `static void check(const Sizes&)`, and so would never be asked");
    });
    static_assert(
        PositionPolicy<typename S::Position>,
        "Position needs Position(ParameterFactory&), embed(x, ctx), rotate(x, ctx) and bias(), each const and "
        "giving a Var: derive it from PositionDefaults");
    static_assert(
        NormPolicy<typename S::Norm>,
        "Norm needs Norm(ParameterFactory&, prefix), norm(x) and norm(x, type), each const and giving a Var, and "
        "of_sum(a, b) and of_sum(a, b, type), giving a NormedSum");
    static_assert(PlacementPolicy<typename S::Placement, typename S::Norm>,
                  "Placement needs Norms<Norm>, kFinalNorm and `static Var block(x, attention, feed_forward, ctx)`");
    static_assert(
        FeedForwardPolicy<typename S::FeedForward>,
        "FeedForward needs FeedForward(ParameterFactory&, prefix, biases) and a const feed_forward(h) giving a Var");
    static_assert(HeadsPolicy<typename S::Heads>,
                  "Heads needs `static std::int64_t width(const Sizes&)` and `static Var join(o_BHTD)`");
    static_assert(QueryKeyNormPolicy<typename S::QueryKeyNorm>,
                  "QueryKeyNorm needs QueryKeyNorm(ParameterFactory&, prefix), query(q) and key(k), each const and "
                  "giving a Var");
    static_assert(FeaturesPolicy<typename S::Features>,
                  "Features needs Features(ParameterFactory&, prefix) and a const features(x) giving a Var");
    static_assert(
        listed_in_attention_ops_def<typename AttentionPolicy<typename S::Attention>::Op>,
        "this attention operation is not compiled: add its line to engine/ops/attention/op/attention_ops.def");
    static_assert(ExtraPolicy<typename S::Extra>,
                  "Extra needs Extra(ParameterFactory&, prefix), kTokens, kExtraKey, kExtraKeyHasValue, extra_key(), "
                  "output(o) and "
                  "Tokens with embed(x, ctx) and drop(x, ctx): derive it from ExtraDefaults");
    static_assert(GatePolicy<typename S::Gate>,
                  "Gate needs Gate(ParameterFactory&, prefix) and a const gate(o, h) giving a Var");
    static_assert(LinearBiasPolicy<typename S::LinearBias>,
                  "LinearBias needs `static constexpr bool` kQkv, kOut and kFeedForward");
    static_assert(UnembeddingPolicy<typename S::Unembedding>,
                  "Unembedding needs `static const Parameter& weight(ParameterFactory&, const Parameter& "
                  "token_embedding)`");

    static_assert(!S::Extra::kExtraKey || S::Extra::kExtraKeyHasValue ||
                      DividesBySum<typename AttentionPolicy<typename S::Attention>::Op>,
                  "an extra key whose value is zero acts only through the divisor: choose an attention operation that "
                  "divides by its row's sum, or give the key a value");
    static_assert(std::is_same_v<typename S::Gate, NoGate> || std::is_same_v<typename S::Heads, ConcatHeads>,
                  "an output gate acts on heads that stand side by side: choose ConcatHeads, or NoGate");
  }
  return true;
}

// Throws Exit::usage with the sentence of the first policy that cannot have these sizes.
template <SpecLike S>
void check_sizes(const Sizes& sizes) {
  for_each_policy<S>([&]<class P>(const char*, const char*) {
    if constexpr (requires { P::check(sizes); }) P::check(sizes);
  });
}

// "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=Softmax": stands in every checkpoint.
template <SpecLike S>
std::string policies_of() {
  std::string text;
  for_each_policy<S>([&]<class P>(const std::string& kind, const std::string& usual) {
    if (P::name() != usual) text += (text.empty() ? "" : " ") + kind + "=" + P::name();
  });
  return text;
}

}  // namespace sink
