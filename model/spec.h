// Spec: a struct that names a policy of every kind, which together define a model. An ablation derives from another
// Spec and changes a line. Below: the requirements of each kind of policy, the combinations that are refused, and the
// text that names the policies of a Spec.
//
// Every policy has `static std::string name()`, without blanks. One that cannot work with all sizes has
// `static void check(const Sizes&)`, which throws Exit::usage. Bases with defaults define optional functions
// (PositionDefaults, ExtraDefaults). A policy of a block is constructed as Policy(make, "blocks.<l>.attention") or with
// "blocks.<l>.feed_forward", and creates its parameters under that prefix.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "engine/ops/attention/op/attention_op_check.h"
#include "engine/ops/attention/op/attention_ops.h"
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
  typename S::Placement;     // where the norms of a block are              (model/placement/)
  typename S::Norm;          // the norm                                    (model/norm/)
  typename S::FeedForward;   // the sublayer after attention                (model/feed_forward/)
  typename S::Heads;         // how the heads of attention join             (model/heads/)
  typename S::QueryKeyNorm;  // whether queries and keys are normed         (model/query_key_norm/)
  typename S::Mixer;         // attention or another mixer, by the block    (model/mixer/)
  typename S::Features;      // feature map of queries and keys             (model/features/)
  typename S::Attention;     // similarity, divisor and their constants     (model/attention/constants.h)
  typename S::Extra;         // extra keys, values and tokens               (model/extra/)
  typename S::Gate;          // gate on the output of attention             (model/gate/)
  typename S::LinearBias;    // which products add a bias                   (model/linear_bias/)
  typename S::Unembedding;   // the matrix of the logits                    (model/unembedding/)
};

// f.operator()<Policy>(kind, usual) for every kind, as named in checkpoints. Kinds with a `usual` policy are named only
// if they have another one.
template <SpecLike S, class F>
constexpr void for_each_policy(F&& f) {
  f.template operator()<typename S::Position>("position", "");
  f.template operator()<typename S::Placement>("placement", "");
  f.template operator()<typename S::Norm>("norm", "");
  f.template operator()<typename S::FeedForward>("feed_forward", "");
  f.template operator()<AttentionPolicy<typename S::Attention>>("attention", "");
  f.template operator()<typename S::Heads>("heads", "ConcatHeads");
  f.template operator()<typename S::QueryKeyNorm>("query_key_norm", "NoQueryKeyNorm");
  f.template operator()<typename S::Mixer>("mixer", "Attention");
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

// One per model. Positions are ctx.documents.positions_BT (I32), or 0 ... T - 1 if that is undefined.
// embed: maps token embeddings; rotate: maps queries and keys of block ctx.layer; bias: (H, T), added to the scores of
// block ctx.layer by head and distance i - j, or an undefined Var. The kernels read one such table for all sequences,
// so that a bias that depends on the tokens (CoPE, the Forgetting Transformer) needs other kernels. Optional:
// split, which splits and rotates in one kernel (model/layer/positioned_heads.h).
template <class P>
concept PositionPolicy = std::constructible_from<P, ParameterFactory&> &&
    requires(const P& position, const Var& x, const ForwardContext& ctx) {
  { position.embed(x, ctx) } -> std::same_as<Var>;
  { position.rotate(x, ctx) } -> std::same_as<Var>;
  { position.bias(ctx) } -> std::same_as<Var>;
};

// norm(x) returns the compute dtype, norm(x, type) another; x is F32 or F64. of_sum returns a + b and its norm.
template <class N>
concept NormPolicy = MadePerBlock<N> && requires(const N& norm, const Var& x, DType type) {
  { norm(x) } -> std::same_as<Var>;
  { norm(x, type) } -> std::same_as<Var>;
  { norm.of_sum(x, x) } -> std::same_as<NormedSum>;
  { norm.of_sum(x, x, type) } -> std::same_as<NormedSum>;
};

// Constructed as FeedForward(make, prefix, biases): whether its products have biases.
template <class F>
concept FeedForwardPolicy = std::constructible_from<F, ParameterFactory&, const std::string&, bool> &&
    requires(const F& feed_forward, const Var& h) {
  { feed_forward(h) } -> std::same_as<Var>;
};

// Placeholders that satisfy the concepts for the two sublayers of a placement (model/transformer_block.h).
template <class Norms>
struct AnyAttention : Norms {
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const;
};
template <class Norms>
struct AnyFeedForward : Norms {
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const;
};

// Norms<Norm>: the norms of one sublayer, its members; block: maps the residual stream before the block to that after
// it, each a Var or a Residual (model/residual.h); kFinalNorm: whether the stream is normed before the unembedding.
template <class P, class Norm>
concept PlacementPolicy = MadePerBlock<typename P::template Norms<Norm>> &&
    requires(const Residual& x, const AnyAttention<typename P::template Norms<Norm>>& attention,
             const AnyFeedForward<typename P::template Norms<Norm>>& feed_forward, const ForwardContext& ctx) {
  { P::block(x, attention, feed_forward, ctx) } -> std::convertible_to<Residual>;
  { P::kFinalNorm } -> std::convertible_to<bool>;
};

// Layer<Attention>: the sublayer that mixes tokens, Layer(make, prefix, position, layer); Attention(make, prefix,
// position) is that with attention.
struct AnyMixed {
  AnyMixed(ParameterFactory&, const std::string&, int position);
  Var operator()(const Var& h_BTC, const ForwardContext& ctx) const;
};
template <class M>
concept MixerPolicy =
    std::constructible_from<typename M::template Layer<AnyMixed>, ParameterFactory&, const std::string&, int,
                            std::int64_t>&& requires(const typename M::template Layer<AnyMixed>& layer, const Var& h,
                                                     const ForwardContext& ctx) {
  { layer(h, ctx) } -> std::same_as<Var>;
};

// width: the length of a joined row; join: (B, H, T, D) -> (B, T, width).
template <class H>
concept HeadsPolicy = requires(const Sizes& sizes, const Var& o) {
  { H::width(sizes) } -> std::same_as<std::int64_t>;
  { H::join(o) } -> std::same_as<Var>;
};

// ctx has the positions of the queries.
template <class N>
concept QueryKeyNormPolicy = MadePerBlock<N> && requires(const N& norm, const Var& x, const ForwardContext& ctx) {
  { norm.query(x, ctx) } -> std::same_as<Var>;
  { norm.key(x) } -> std::same_as<Var>;
};

template <class F>
concept FeaturesPolicy = MadePerBlock<F> && requires(const F& features, const Var& x) {
  { features(x) } -> std::same_as<Var>;
};

// kTokens: learned tokens before every sequence (Tokens, one per model: embed prepends them, drop removes them);
// kExtraKey: whether every query sees one extra key without position, extra_key(); kExtraKeyHasValue: whether its value
// can differ from zero; output: maps the outputs of the heads before they are joined.
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

// gate(o, h): o (B, T, width) times a gate computed from the input h (B, T, C) of the sublayer.
template <class G>
concept GatesOutput = requires(const G& gate, const Var& o, const Var& h) {
  { gate(o, h) } -> std::same_as<Var>;
};
// gate(o, h, inputs, config, join): the same for a gate that reads what attention did, too; join(o_BHTD) is a row of
// all heads.
template <class G>
concept GatesAttention = requires(const G& gate, const Var& o, const AttentionInputs& inputs,
                                  const AttentionConfig& config, Var (*join)(const Var&)) {
  { gate(o, o, inputs, config, join) } -> std::same_as<Var>;
};
// Optional: values(v, h), a gate of the values (model/layer/positioned_heads.h).
template <class G>
concept Gates = GatesOutput<G> || GatesAttention<G>;
template <class G>
concept GatePolicy = MadePerBlock<G> && Gates<G>;

template <class B>
concept LinearBiasPolicy = requires {
  { B::kQkv } -> std::convertible_to<bool>;
  { B::kOut } -> std::convertible_to<bool>;
  { B::kFeedForward } -> std::convertible_to<bool>;
};

// weight: (V, C), a new parameter or the token embedding. Optional: kLogitCap, of capped logits.
template <class U>
concept UnembeddingPolicy = requires(ParameterFactory& make, const Parameter& token_embedding) {
  { U::weight(make, token_embedding) } -> std::same_as<const Parameter&>;
};

// Checks every policy of a Spec against its concept, then the combinations, with a message for each failure.
template <class S>
consteval bool contracts_hold() {
  static_assert(SpecLike<S>, "a Spec names a policy of every kind: derive it from ablations::baseline");
  if constexpr (SpecLike<S>) {
    for_each_policy<S>([]<class P>(const char*, const char*) {
      static_assert(Named<P>,
                    "a policy has no name: give it `static std::string name()`, which every checkpoint stores");
      static_assert(ChecksSizes<P>,
                    "a policy's check is not `static void check(const Sizes&)`, and so would never be asked");
    });
    static_assert(
        PositionPolicy<typename S::Position>,
        "Position needs Position(ParameterFactory&), embed(x, ctx), rotate(x, ctx) and bias(ctx), each const and "
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
    static_assert(
        QueryKeyNormPolicy<typename S::QueryKeyNorm>,
        "QueryKeyNorm needs QueryKeyNorm(ParameterFactory&, prefix), query(q, ctx) and key(k), each const and "
        "giving a Var");
    static_assert(MixerPolicy<typename S::Mixer>,
                  "Mixer needs Layer<Attention> with Layer(ParameterFactory&, prefix, position, layer) and a const "
                  "layer(h, ctx) giving a Var");
    static_assert(FeaturesPolicy<typename S::Features>,
                  "Features needs Features(ParameterFactory&, prefix) and a const features(x) giving a Var");
    static_assert(attention_op_is_complete<typename AttentionPolicy<typename S::Attention>::Op>());
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
                      NormalizesRows<typename AttentionPolicy<typename S::Attention>::Op>,
                  "an extra key whose value is zero acts only through the divisor: choose an attention operation that "
                  "divides by its row's sum or has a threshold, or give the key a value");
    static_assert(std::is_same_v<typename S::Gate, NoGate> || std::is_same_v<typename S::Heads, ConcatHeads>,
                  "an output gate acts on heads that stand side by side: choose ConcatHeads, or NoGate");
  }
  return true;
}

// Throws Exit::usage for the first policy that does not support these sizes.
template <SpecLike S>
void check_sizes(const Sizes& sizes) {
  for_each_policy<S>([&]<class P>(const char*, const char*) {
    if constexpr (requires { P::check(sizes); }) P::check(sizes);
  });
}

// "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=Softmax", as in checkpoints.
template <SpecLike S>
std::string policies_of() {
  std::string text;
  for_each_policy<S>([&]<class P>(const std::string& kind, const std::string& usual) {
    if (P::name() != usual) text += (text.empty() ? "" : " ") + kind + "=" + P::name();
  });
  return text;
}

}  // namespace sink
