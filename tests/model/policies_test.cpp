// Policies, where golden models do not test them: the layer that a position policy gets, initial biases, the policies'
// names in a checkpoint, and sizes that are refused. transformer_golden_test compares the formula of each policy with
// PyTorch, and tests/mutations/mutate.py shows that it notices a wrong one.
#include <doctest/doctest.h>

#include "model/ablation_of.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"

using namespace sink;
using namespace sink::test;

namespace {

const Tensor& tokens() {
  static const Tensor tokens_BT = random_tokens(2, small_sizes().context, small_sizes().vocabulary);
  return tokens_BT;
}

double difference(LanguageModel& x, LanguageModel& y) {
  return relative_difference(x.logits(tokens()), y.logits(tokens()));
}

template <class Spec>
std::unique_ptr<LanguageModel> make_model_of() {
  return ablation_of<Spec>("test").make_model(small_sizes(), InitScheme::torch, 5, DType::F64);
}

// The biases of ALiBi in the first `Layers` layers.
template <std::int64_t Layers>
struct AlibiBelow : Alibi {
  using Alibi::Alibi;
  static std::string name() { return "AlibiBelow"; }
  Var bias(const ForwardContext& ctx) const { return ctx.layer < Layers ? Alibi::bias(ctx) : Var(); }
};
template <std::int64_t Layers>
struct alibi_below : ablations::pos_alibi {
  using Position = AlibiBelow<Layers>;
};
struct qkv_biases : ablations::baseline {
  using LinearBias = QkvLinearBias;
};
struct all_biases : ablations::baseline {
  using LinearBias = AllLinearBias;
};
struct all_biases_relu : all_biases {
  using FeedForward = ReluFeedForward;
};
struct tied : ablations::baseline {
  using Unembedding = TiedUnembedding;
};

}  // namespace

TEST_CASE("position biases: each layer has its own") {
  REQUIRE(small_sizes().layers == 2);
  auto none = make_model_of<alibi_below<0>>(), first = make_model_of<alibi_below<1>>(),
       both = make_model_of<alibi_below<2>>();
  auto alibi = make_model_of<ablations::pos_alibi>(), nope = make_model_of<ablations::pos_nope>();
  CHECK(difference(*none, *nope) == 0);
  CHECK(difference(*both, *alibi) == 0);
  CHECK(difference(*first, *nope) > 1e-3);
  CHECK(difference(*first, *alibi) > 1e-3);
}

TEST_CASE("linear bias: zero at first, and then all parameters and numbers are the baseline's") {
  auto plain = make_model("baseline"), all = make_model_of<all_biases>(), qkv = make_model_of<qkv_biases>();
  CHECK(difference(*all, *plain) == 0);
  CHECK(difference(*qkv, *plain) == 0);
  CHECK(all->parameters().size() == plain->parameters().size() + 4 * 2);
  CHECK(qkv->parameters().size() == plain->parameters().size() + 1 * 2);
}

TEST_CASE("tied unembedding: a parameter less, and as many operations") {
  auto one = make_model_of<tied>(), two = make_model("baseline");
  CHECK(one->parameters().size() + 1 == two->parameters().size());
  CHECK(one->training_flops(10, 13) == two->training_flops(10, 13));
}

TEST_CASE("LLaMA 3's rotations without a factor are the baseline's") {
  if (is_built("llama3")) CHECK(difference(*make_model("llama3"), *make_model("baseline")) == 0);
}

TEST_CASE("policies: those of the checkpoint's text are the ones that are not usual") {
  CHECK(ablation_named("baseline").policies ==
        "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=Softmax");
  CHECK(ablation_named("qk_norm").policies ==
        "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=Softmax query_key_norm=RmsNorm");
  if (is_built("scale_0_05"))
    CHECK(ablation_named("scale_0_05").policies ==
          "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=SwiGlu attention=ScaledSoftmax(0.05)");
  CHECK(ablation_of<all_biases_relu>("x").policies ==
        "position=Rotary placement=PreNorm norm=RmsNorm feed_forward=Relu attention=Softmax linear_bias=All");
  CHECK(ablation_of<tied>("x").policies.ends_with("attention=Softmax unembedding=Tied"));
}

TEST_CASE("policies: each refuses the sizes that it cannot have, with a sentence, before anything is made") {
  auto refused = [](const char* name, const Sizes& sizes, std::initializer_list<std::string> parts) {
    CAPTURE(name);
    check_refused([&] { ablation_named(name).check_sizes(sizes); }, parts, Exit::usage);
    check_refused([&] { make_model(name, sizes); }, parts, Exit::usage);
  };
  Sizes odd_heads = small_sizes(), odd_width = small_sizes();
  odd_heads.head_width = 7;
  odd_width.width = 25;
  odd_width.head_width = 8;
  refused("baseline", odd_heads, {"rotary", "even width of a head", "7"});
  refused("pos_absolute", odd_width, {"sinusoidal", "even width", "25"});
  refused("bias_k_d64", small_sizes(), {"64 elements of a key", "8 wide"});
  Sizes half_odd = small_sizes(), few_experts = small_sizes();
  half_odd.head_width = 6;
  half_odd.rotary_part = 0.5;
  few_experts.experts = 4;
  few_experts.chosen_experts = 5;
  refused("baseline", half_odd, {"even width", "6, of which 0.5"});
  if (is_built("gpt_oss")) refused("gpt_oss", few_experts, {"5 of 4"});
  for (const char* name : {"pos_nope", "bias_k_d4"})
    if (is_built(name)) CHECK_NOTHROW(ablation_named(name).check_sizes(odd_width));
  CHECK_NOTHROW(ablation_named("pos_absolute").check_sizes(odd_heads));
}

TEST_CASE("a model refuses tokens that its vocabulary does not have") {
  auto model = make_model("baseline");
  std::int64_t V = model->sizes().vocabulary;
  Tensor foreign = tokens().clone();
  foreign.data<std::int32_t>()[0] = static_cast<std::int32_t>(V);
  check_refused([&] { model->logits(foreign); }, {"token " + std::to_string(V), "[0, " + std::to_string(V - 1) + "]"},
                Exit::bad_input);
  check_refused([&] { model->loss(Batch(foreign, tokens(), V + 1)); },
                {std::to_string(V + 1) + " kinds of tokens", "the model " + std::to_string(V)}, Exit::bad_input);
}
