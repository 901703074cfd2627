// Every policy by a property that only it has: mostly, that a model with it equals another model whose parameters are
// set so that the two must agree.
#include <doctest/doctest.h>

#include <cmath>

#include "autograd/tape.h"
#include "engine/ops/optimizer/adamw.h"
#include "model/ablation_of.h"
#include "model/placement/placements.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

const Tensor& tokens() {
  static const Tensor tokens_BT = random_tokens(2, small_sizes().context, small_sizes().vocabulary);
  return tokens_BT;
}

Batch batch() {
  std::int64_t V = small_sizes().vocabulary;
  return {tokens(), random_tokens(2, small_sizes().context, V, "targets"), V};
}

double difference(LanguageModel& x, LanguageModel& y) {
  return relative_difference(x.logits(tokens()), y.logits(tokens()));
}

template <class Spec>
std::unique_ptr<LanguageModel> make_model_of(const Sizes& sizes = small_sizes()) {
  return ablation_of<Spec>("test").make_model(sizes, InitScheme::torch, 5, DType::F64);
}

const auto any_number = [](std::int64_t n, double) { return number("any", n); };
std::function<double(std::int64_t, double)> constant(double c) {
  return [c](std::int64_t, double) { return c; };
}

}  // namespace

TEST_CASE("head addition: equals concatenation whose output projection repeats its columns for every head") {
  auto add = make_model("head_add"), concat = make_model("baseline");
  Sizes s = small_sizes();
  std::int64_t D = s.width_of_head();
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    std::string name = "blocks." + std::to_string(layer) + ".attention.out.weight";
    Tensor w_CD = parameter_of(*add, name).master();
    set(*concat, name, [&](std::int64_t n, double) { return w_CD.item(n / s.width * D + n % s.width % D); });
  }
  CHECK(difference(*add, *concat) < 1e-12);
  CHECK(difference(*add, *make_model("baseline")) > 1e-3);
}

TEST_CASE("grouped queries: equal full heads whose keys and values are copies") {
  Sizes s = small_sizes(), grouped_sizes = s;
  s.heads = 6;
  grouped_sizes.heads = 6;
  grouped_sizes.kv_heads = 2;
  for (std::string name : {"baseline", "bias_kv", "pos_t5"}) {
    CAPTURE(name);
    auto full = make_model(name, s), grouped = make_model(name, grouped_sizes);
    std::int64_t D = s.width_of_head(), C = s.width, H = 6, G = 2;
    for (std::int64_t layer = 0; layer < s.layers; ++layer) {
      std::string qkv = "blocks." + std::to_string(layer) + ".attention.qkv.weight";
      Tensor w = parameter_of(*grouped, qkv).master();
      set(*full, qkv, [&](std::int64_t n, double) {
        std::int64_t row = n / C, part = row / (H * D), h = row / D % H, d = row % D;
        std::int64_t source = part == 0 ? row : H * D + (part - 1) * G * D + h / (H / G) * D + d;
        return w.item(source * C + n % C);
      });
    }
    CHECK(difference(*full, *grouped) < 1e-12);
  }
}

TEST_CASE("output gate: zero weights halve every head, and a gate per head is a gate per number with equal rows") {
  auto gated = make_model("gate_element"), plain = make_model("baseline"), by_head = make_model("gate_head");
  std::int64_t C = small_sizes().width, D = small_sizes().width_of_head();
  for (std::int64_t layer = 0; layer < small_sizes().layers; ++layer) {
    std::string name = "blocks." + std::to_string(layer) + ".attention.gate.weight";
    Tensor w_HC = parameter_of(*by_head, name).master();
    set(*gated, name, [&](std::int64_t n, double) { return w_HC.item(n / C / D * C + n % C); });
  }
  CHECK(difference(*gated, *by_head) < 1e-12);
  set_in_blocks(*gated, "attention.gate.weight", constant(0));
  set_in_blocks(*plain, "attention.out.weight", [](std::int64_t, double old) { return old / 2; });
  CHECK(difference(*gated, *plain) < 1e-12);
}

TEST_CASE("truncated gate: that of a head whose weights after the first eighth of the elements are 0") {
  auto truncated = make_model("gate_truncated"), by_head = make_model("gate_head");
  CHECK(difference(*truncated, *by_head) > 1e-3);
  const std::int64_t C = small_sizes().width, read = C / 8;
  for (std::int64_t layer = 0; layer < small_sizes().layers; ++layer) {
    const std::string name = "blocks." + std::to_string(layer) + ".attention.gate.weight";
    Tensor w = parameter_of(*truncated, name).master();
    CHECK(w.shape() == Shape{small_sizes().heads, read});
    set(*by_head, name, [&](std::int64_t n, double) { return n % C < read ? w.item(n / C * read + n % C) : 0; });
  }
  CHECK(difference(*truncated, *by_head) < 1e-12);
}

TEST_CASE("swish gate: zero weights shut it, and no bound is above it") {
  auto swish = make_model("gate_swish"), element = make_model("gate_element"), plain = make_model("baseline");
  // With weights 1e6 times as large, a gate is 0 or its logit; that of an element is 0 or 1.
  set_in_blocks(*swish, "attention.gate.weight", [](std::int64_t, double old) { return 1e6 * old; });
  set_in_blocks(*element, "attention.gate.weight", [](std::int64_t, double old) { return 1e6 * old; });
  CHECK(difference(*swish, *element) > 1);
  set_in_blocks(*swish, "attention.gate.weight", constant(0));
  set_in_blocks(*plain, "attention.out.weight", constant(0));
  CHECK(difference(*swish, *plain) < 1e-12);
}

TEST_CASE("value gate: a gate of each element of the output where a token sees itself alone") {
  Sizes alone = small_sizes();
  alone.window = 1;
  CHECK(difference(*make_model("gate_value", alone), *make_model("gate_element", alone)) < 1e-12);
  CHECK(difference(*make_model("gate_value"), *make_model("gate_element")) > 1e-3);
}

TEST_CASE("affine gate: zero weights halve every head, and a large bias adds half of the mean value") {
  auto affine = make_model("gate_affine"), plain = make_model("baseline");
  set_in_blocks(*affine, "attention.gate.weight", constant(0));
  set_in_blocks(*affine, "attention.gate.bias", constant(0));
  set_in_blocks(*plain, "attention.out.weight", [](std::int64_t, double old) { return old / 2; });
  CHECK(difference(*affine, *plain) < 1e-12);
  set_in_blocks(*affine, "attention.gate.bias", constant(40));
  CHECK(difference(*affine, *plain) > 1e-2);
  // Queries of zero give every value the same weight: then o is the mean, and (o + mean) / 2 is o.
  std::int64_t rows = small_sizes().heads * small_sizes().width_of_head() * small_sizes().width;
  auto no_queries = [&](std::int64_t n, double old) { return n < rows ? 0 : old; };
  for (std::int64_t window : {0, 4}) {
    CAPTURE(window);
    Sizes sizes = small_sizes();
    sizes.window = window;
    sizes.prefix = window > 0 ? 2 : 0;
    auto mean = make_model("gate_affine", sizes), uniform = make_model("baseline", sizes);
    set_in_blocks(*mean, "attention.gate.weight", constant(0));
    set_in_blocks(*mean, "attention.gate.bias", constant(40));
    set_in_blocks(*mean, "attention.qkv.weight", no_queries);
    set_in_blocks(*uniform, "attention.qkv.weight", no_queries);
    CHECK(difference(*mean, *uniform) < 1e-12);
  }
}

TEST_CASE("exclusive gate: nothing is left of a token that sees itself alone, and the same where values are longer") {
  Sizes alone = small_sizes();
  alone.window = 1;
  auto exclusive = make_model("gate_xsa", alone), plain = make_model("baseline", alone);
  CHECK(difference(*exclusive, *plain) > 1e-2);
  set_in_blocks(*plain, "attention.out.weight", constant(0));
  CHECK(difference(*exclusive, *plain) < 1e-10);  // 1e-12 is added to the mean square of a value
  auto once = make_model("gate_xsa"), thrice = make_model("gate_xsa");
  const Sizes s = small_sizes();
  set_in_blocks(*thrice, "attention.qkv.weight",
                [&](std::int64_t n, double old) { return n / s.width >= 2 * s.width ? 3 * old : old; });
  set_in_blocks(*thrice, "attention.out.weight", [](std::int64_t, double old) { return old / 3; });
  CHECK(difference(*once, *thrice) < 1e-10);
}

TEST_CASE("ConSmax: a constant added to all scores multiplies all outputs by its exponential") {
  auto without = make_model("op_consmax"), with = make_model("op_consmax");
  set(*without, "position.offset.weight", constant(0.3));
  set(*with, "position.offset.weight", constant(0.3 + std::log(5.0)));
  CHECK(difference(*without, *with) > 1e-3);
  set_in_blocks(*with, "attention.out.weight", [](std::int64_t, double old) { return old / 5; });
  CHECK(difference(*without, *with) < 1e-12);
  set(*with, "position.offset.weight", [](std::int64_t n, double) { return n < 1 ? 0.3 : 0.3 + std::log(5.0); });
  CHECK(difference(*without, *with) > 1e-5);  // of each layer and head
}

TEST_CASE("scalable softmax: with one key it is softmax, with two a factor of ln 2 / 4 of the scores") {
  Sizes sizes = small_sizes();
  sizes.window = 1;
  CHECK(difference(*make_model("op_ssmax", sizes), *make_model("baseline", sizes)) < 1e-12);
  CHECK(difference(*make_model("op_ssmax"), *make_model("baseline")) > 1e-3);
  auto scaled = make_model("op_ssmax"), plain = make_model("baseline");
  const std::int64_t rows = sizes.heads * sizes.width_of_head() * sizes.width;
  set_in_blocks(*plain, "attention.qkv.weight",
                [&](std::int64_t n, double old) { return n < rows ? std::log(2.0) / 4 * old : old; });
  Tensor tokens = Tensor::zeros({1, 2}, DType::I32);
  tokens.data<std::int32_t>()[1] = 3;
  const Tensor a = scaled->logits(tokens), b = plain->logits(tokens);
  for (std::int64_t n = 0; n < a.size(); ++n) CHECK(std::abs(a.item(n) - b.item(n)) < 1e-12);
}

TEST_CASE("windowed sink logit: that of op_sink_logit in blocks with a window, and none in others") {
  CHECK(difference(*make_model("op_sink_logit_windowed"), *make_model("baseline")) < 1e-12);
  Sizes sizes = small_sizes();
  sizes.window = 4;
  auto windowed = make_model("op_sink_logit_windowed", sizes), every = make_model("op_sink_logit", sizes);
  for (auto* model : {&windowed, &every}) set_in_blocks(**model, "attention.extra.logit", constant(0.7));
  CHECK(difference(*windowed, *every) < 1e-12);
  sizes.global_every = 2;
  windowed = make_model("op_sink_logit_windowed", sizes), every = make_model("op_sink_logit", sizes);
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = "blocks." + std::to_string(layer) + ".attention.extra.logit";
    const bool global = layer % 2 == 1;
    if (!global) set(*windowed, name, constant(0.7));
    set(*every, name, constant(global ? -1e4 : 0.7));
  }
  CHECK(difference(*windowed, *every) < 1e-12);
  CHECK(difference(*windowed, *make_model("baseline", sizes)) > 1e-3);
}

TEST_CASE("gated norm: with zero weights it is half of the norm") {
  auto gated = make_model("norm_gated"), plain = make_model("baseline");
  CHECK(difference(*gated, *plain) > 1e-3);
  const auto half = [](std::int64_t, double old) { return old / 2; };
  for (const char* norm : {"attention.norm", "feed_forward.norm"}) {
    set_in_blocks(*gated, std::string(norm) + ".up.weight", constant(0));
    set_in_blocks(*plain, std::string(norm) + ".gain", half);
  }
  set(*gated, "final_norm.up.weight", constant(0));
  set(*plain, "final_norm.gain", half);
  CHECK(difference(*gated, *plain) < 1e-12);
}

TEST_CASE("query-key norm: the length of query and key projections does not matter, and does without it") {
  for (std::string name : {"qk_norm", "baseline"}) {
    CAPTURE(name);
    Sizes s = small_sizes();
    auto once = make_model(name), thrice = make_model(name);
    set_in_blocks(*once, "attention.norm.gain", constant(40));  // far above the norm's epsilon
    set_in_blocks(*thrice, "attention.norm.gain", constant(40));
    set_in_blocks(*thrice, "attention.qkv.weight",
                  [&](std::int64_t n, double old) { return n / s.width < 2 * s.width ? 3 * old : old; });
    double d = difference(*once, *thrice);
    CHECK((name == "qk_norm" ? d < 1e-3 : d > 1e-2));
  }
}

TEST_CASE("extra keys: a shared vector equals copies of it for every head") {
  std::int64_t D = small_sizes().width_of_head();
  for (std::string kind : {"bias_kv", "bias_k", "bias_v"}) {
    CAPTURE(kind);
    if (!is_built(kind + "_shared")) continue;
    auto per_head = make_model(kind), shared = make_model(kind + "_shared");
    for (std::string part : {"key", "value"}) {
      if ((part == "key" && kind == "bias_v") || (part == "value" && kind == "bias_k")) continue;
      set_in_blocks(*shared, "attention.extra." + part, any_number);
      set_in_blocks(*per_head, "attention.extra." + part, [&](std::int64_t n, double) { return number("any", n % D); });
    }
    CHECK(difference(*per_head, *shared) < 1e-12);
    CHECK(difference(*per_head, *make_model("baseline")) > 1e-3);
  }
}

TEST_CASE("extra keys: K bias is KV bias with a zero value, and the fixed values are values") {
  auto kv = make_model("bias_kv"), k = make_model("bias_k");
  std::int64_t D = small_sizes().width_of_head();
  auto same_keys = [](LanguageModel& model) { set_in_blocks(model, "attention.extra.key", any_number); };
  same_keys(*kv);
  same_keys(*k);
  set_in_blocks(*kv, "attention.extra.value", constant(0));
  CHECK(difference(*kv, *k) < 1e-13);
  for (auto [name, norm, axis] : {std::tuple{"bias_k_v1e1", 1, true},
                                  {"bias_k_v5e1", 5, true},
                                  {"bias_k_v20e1", 20, true},
                                  {"bias_k_v1u", 1, false},
                                  {"bias_k_v5u", 5, false},
                                  {"bias_k_v20u", 20, false}}) {
    CAPTURE(name);
    if (!is_built(name)) continue;
    auto fixed = make_model(name);
    same_keys(*fixed);
    set_in_blocks(*kv, "attention.extra.value", [=](std::int64_t n, double) {
      return axis ? (n % D == 0 ? norm : 0) : norm / std::sqrt(static_cast<double>(D));
    });
    CHECK(difference(*kv, *fixed) < 1e-12);
  }
}

TEST_CASE("extra keys: of a low-dimensional key only the first numbers exist") {
  std::int64_t D = small_sizes().width_of_head();
  for (std::int64_t dimensions : {1, 2, 4, 8}) {
    CAPTURE(dimensions);
    if (!is_built("bias_k_d" + std::to_string(dimensions))) continue;
    auto low = make_model("bias_k_d" + std::to_string(dimensions)), full = make_model("bias_k");
    CHECK(parameter_of(*low, "blocks.0.attention.extra.key").master().dim(1) == dimensions);
    set_in_blocks(*low, "attention.extra.key",
                  [&](std::int64_t n, double) { return number("any", n / dimensions * D + n % dimensions); });
    set_in_blocks(*full, "attention.extra.key",
                  [&](std::int64_t n, double) { return n % D < dimensions ? number("any", n) : 0; });
    CHECK(difference(*low, *full) < 1e-13);
  }
  try {
    make_model("bias_k_d64");
    FAIL("a key of 64 learned numbers in heads of 8");
  } catch (const Error& error) {
    CHECK(error.code == Exit::usage);
    CHECK(std::string(error.what()).find("64") != std::string::npos);
  }
}

TEST_CASE("extra keys: a K bias or KV bias whose logits are -infinity is none") {
  // Coordinate D/2 - 1 hardly turns; with embedding column 0 large and query rows that read it, every query is positive
  // there, so a key far on the other side gets no weight.
  Sizes s = small_sizes();
  std::int64_t D = s.width_of_head(), C = s.width, slow = D / 2 - 1;
  auto prepare = [&](LanguageModel& model) {
    set(model, "embedding.token.weight", [=](std::int64_t n, double old) { return n % C == 0 ? 10 : old; });
    set_in_blocks(model, "attention.qkv.weight", [=](std::int64_t n, double old) {
      bool reads = n / C < C && n / C % D == slow;
      return reads ? n % C == 0 : old;
    });
  };
  auto plain = make_model("baseline");
  prepare(*plain);
  for (std::string name : {"bias_k", "bias_kv", "bias_k_v5u"}) {
    CAPTURE(name);
    auto biased = make_model(name);
    prepare(*biased);
    CHECK(difference(*biased, *plain) > 1e-3);
    set_in_blocks(*biased, "attention.extra.key", [=](std::int64_t n, double) { return n % D == slow ? -1e6 : 0; });
    CHECK(difference(*biased, *plain) < 1e-14);
  }
}

TEST_CASE("sink logits: at -infinity they are gone, at 0 they are softmax-off-by-one") {
  auto logit = make_model("op_sink_logit"), one = make_model("op_softmax1"), plain = make_model("baseline");
  set_in_blocks(*logit, "attention.extra.logit", constant(-1e300));
  CHECK(difference(*logit, *plain) < 1e-14);
  set_in_blocks(*logit, "attention.extra.logit", constant(0));
  CHECK(difference(*logit, *one) < 1e-14);
  CHECK(difference(*one, *plain) > 1e-3);
}

TEST_CASE("V bias: moves every output of a head by the same vector, so by W_O v* before the feed-forward") {
  // With a feed-forward that gives zero, the residual stream after block 1 moves by W_O v* at every position.
  auto biased = make_model("bias_v"), plain = make_model("baseline");
  for (auto* model : {biased.get(), plain.get()}) set_in_blocks(*model, "feed_forward.down.weight", constant(0));
  set_in_blocks(*biased, "attention.extra.value", any_number);
  Watcher with, without;
  biased->logits(tokens(), {.hooks = &with});
  plain->logits(tokens(), {.hooks = &without});
  std::int64_t C = small_sizes().width;
  Tensor out_CE = parameter_of(*biased, "blocks.0.attention.out.weight").master();
  for (std::int64_t t : {0, 1, 12})
    for (std::int64_t c = 0; c < C; ++c) {
      double moved = 0;
      for (std::int64_t e = 0; e < C; ++e) moved += out_CE.item(c * C + e) * number("any", e);
      CHECK(with.hidden_L[1].item(t * C + c) - without.hidden_L[1].item(t * C + c) ==
            doctest::Approx(moved).epsilon(1e-9));
    }
}

TEST_CASE("sink token: equals a baseline that reads the same vector as its first token") {
  Sizes s = small_sizes(), longer = s;
  longer.context = s.context + 1;
  auto with = make_model("bias_sinktoken", s), plain = make_model("baseline", longer);
  CHECK(with->extra_tokens() == 1);
  Tensor row = parameter_of(*with, "embedding.sink_token.weight").master();
  std::int64_t V = s.vocabulary, C = s.width, T = s.context, B = 2;
  // Token V - 1 becomes the sink token; the sequences do not hold it.
  set(*plain, "embedding.token.weight",
      [&](std::int64_t n, double old) { return n / C == V - 1 ? row.item(n % C) : old; });
  Tensor seen = random_tokens(B, T, V - 1), prepended = Tensor::empty({B, T + 1}, DType::I32);
  for (std::int64_t n = 0; n < prepended.size(); ++n) {
    std::int64_t b = n / (T + 1), t = n % (T + 1);
    prepended.data<std::int32_t>()[n] = static_cast<std::int32_t>(t == 0 ? V - 1 : seen.item(b * T + t - 1));
  }
  Tensor ours = with->logits(seen), theirs = plain->logits(prepended);
  REQUIRE(ours.shape() == Shape({B, T, V}));
  double largest = 0;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t n = 0; n < T * V; ++n)
      keep_worst(largest, std::abs(ours.item(b * T * V + n) - theirs.item(b * (T + 1) * V + V + n)));
  CHECK(largest < 1e-12);
}

namespace {

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

TEST_CASE("post-norm: the stream has root-mean-square 1 after every block, and what it was before is shown") {
  auto post = make_model("norm_post");
  Watcher watcher;
  post->logits(tokens(), {.hooks = &watcher});
  std::int64_t C = small_sizes().width;
  REQUIRE(watcher.before_norm_L.size() == 2);
  for (std::size_t layer : {1u, 2u}) {
    auto rms = [&](const Tensor& x_BTC, std::int64_t row) {
      double sum = 0;
      for (std::int64_t c = 0; c < C; ++c) sum += x_BTC.item(row * C + c) * x_BTC.item(row * C + c);
      return std::sqrt(sum / static_cast<double>(C));
    };
    for (std::int64_t row : {0, 5, 25}) {
      double before = rms(watcher.before_norm_L[layer - 1], row);
      CHECK(rms(watcher.hidden_L[layer], row) ==
            doctest::Approx(before / std::sqrt(before * before + 1e-5)).epsilon(1e-9));
      CHECK(std::abs(before - 1) > 1e-5);
    }
  }
}

TEST_CASE("norms after sublayers: what is added does not depend on the size of the last weights; pre-norm's does") {
  for (std::string name : {"norm_sandwich", "olmo2", "baseline"}) {
    if (!is_built(name)) continue;
    CAPTURE(name);
    auto once = make_model(name), more = make_model(name);
    if (name != "baseline")  // far above the norm's epsilon
      for (auto* model : {once.get(), more.get()})
        set_in_blocks(*model, "attention.out.weight", [](std::int64_t, double old) { return 1e3 * old; });
    set_in_blocks(*more, "attention.out.weight", [](std::int64_t, double old) { return 7 * old; });
    double d = difference(*once, *more);
    CHECK((name != "baseline" ? d < 1e-4 : d > 1e-2));
  }
}

TEST_CASE("query-key norm of all heads: longer queries of the first head shorten those of the second, by one factor") {
  if (!is_built("olmo2")) return;
  auto once = make_model("olmo2"), more = make_model("olmo2");
  const Sizes& s = once->sizes();
  const std::int64_t D = s.width_of_head(), T = s.context;
  set(*more, "blocks.0.attention.qkv.weight",
      [&](std::int64_t n, double old) { return n < D * s.width ? 9 * old : old; });
  Watcher before, after;
  once->logits(tokens(), {.hooks = &before});
  more->logits(tokens(), {.hooks = &after});
  for (std::int64_t t = 0; t < T; ++t) {
    const std::int64_t first = (T + t) * D;
    const double factor = after.q_L[0].item(first) / before.q_L[0].item(first);
    CHECK(factor < 0.5);
    for (std::int64_t d = 1; d < D; ++d)
      CHECK(after.q_L[0].item(first + d) == doctest::Approx(factor * before.q_L[0].item(first + d)).epsilon(1e-9));
  }
}

TEST_CASE("LayerNorm: a constant added to every number of the embedding changes nothing in the first norm") {
  for (std::string name : {"norm_layer", "baseline"}) {
    CAPTURE(name);
    auto once = make_model(name), moved = make_model(name);
    set(*moved, "embedding.token.weight", [](std::int64_t, double old) { return old + 5; });
    Watcher before, after;
    once->logits(tokens(), {.hooks = &before});
    moved->logits(tokens(), {.hooks = &after});
    double d = relative_difference(after.q_L[0], before.q_L[0]);
    CHECK((name == "norm_layer" ? d < 1e-12 : d > 1e-2));
  }
}

TEST_CASE("feed-forward kinds: each is its formula on a row worked out by hand") {
  auto relu = [](double x) { return std::max(x, 0.0); };
  auto gelu = [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); };
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  struct Kind {
    const char* name;
    std::function<double(double)> f;
    bool gated;
  };
  for (const Kind& kind : {Kind{"ffn_relu", relu, false},
                           {"ffn_gelu", gelu, false},
                           {"ffn_swish", silu, false},
                           {"ffn_reglu", relu, true},
                           {"ffn_geglu", gelu, true},
                           {"baseline", silu, true}}) {
    CAPTURE(kind.name);
    if (!is_built(kind.name)) continue;
    Sizes s = small_sizes();
    auto model = make_model(kind.name);
    set_in_blocks(*model, "attention.out.weight", constant(0));
    Watcher watcher;
    model->logits(tokens(), {.hooks = &watcher});
    Tensor up =
        parameter_of(*model, kind.gated ? "blocks.0.feed_forward.gate_up.weight" : "blocks.0.feed_forward.up.weight")
            .master();
    Tensor down = parameter_of(*model, "blocks.0.feed_forward.down.weight").master();
    std::int64_t C = s.width, F = s.feed_forward, row = 7;
    const Tensor& x = watcher.hidden_L[0];
    double squares = 0;
    for (std::int64_t c = 0; c < C; ++c) squares += x.item(row * C + c) * x.item(row * C + c);
    double r = 1 / std::sqrt(squares / static_cast<double>(C) + 1e-5);
    std::vector<double> y(static_cast<std::size_t>(F));
    auto product = [&](std::int64_t f) {
      double sum = 0;
      for (std::int64_t c = 0; c < C; ++c) sum += up.item(f * C + c) * x.item(row * C + c) * r;
      return sum;
    };
    for (std::int64_t f = 0; f < F; ++f)
      y[static_cast<std::size_t>(f)] = kind.f(product(f)) * (kind.gated ? product(F + f) : 1);
    for (std::int64_t c = 0; c < C; ++c) {
      double sum = x.item(row * C + c);
      for (std::int64_t f = 0; f < F; ++f) sum += down.item(c * F + f) * y[static_cast<std::size_t>(f)];
      CHECK(watcher.hidden_L[1].item(row * C + c) == doctest::Approx(sum).epsilon(1e-10));
    }
  }
}

TEST_CASE("feature maps: elu features make every weight positive, identity and MLP ones of either sign") {
  for (auto [name, positive] : {std::pair{"kern_elu_none", true}, {"kern_id_none", false}, {"kern_mlp_none", false}}) {
    CAPTURE(name);
    if (!is_built(name)) continue;
    auto model = make_model(name);
    Watcher watcher;
    model->logits(tokens(), {.hooks = &watcher});
    double least = INFINITY;
    for (const auto& maps : watcher.map_LH)
      for (const Tensor& map : maps)
        for (std::int64_t n = 0; n < map.size(); ++n) least = std::min(least, map.item(n));
    CHECK((least >= 0) == positive);
  }
  // With W1 the identity and W2 = 2, the MLP is 2 relu(x): scores are 4 relu(q) . relu(k), never negative.
  auto mlp = make_model("kern_mlp_none");
  std::int64_t D = small_sizes().width_of_head();
  set_in_blocks(*mlp, "attention.features.up.weight", [D](std::int64_t n, double) { return n / D == n % D; });
  set_in_blocks(*mlp, "attention.features.down.weight", [D](std::int64_t n, double) { return 2.0 * (n / D == n % D); });
  Watcher doubled;
  mlp->logits(tokens(), {.hooks = &doubled});
  for (std::int64_t n = 0; n < doubled.q_L[0].size(); ++n) REQUIRE(doubled.q_L[0].item(n) >= 0);
}

TEST_CASE("alpha-scaled softmax: equals scaling W_O, and stays equal under AdamW with that matrix's settings scaled") {
  // Gu et al. 2025, Table 14: init times alpha, learning rate alpha, epsilon / alpha, weight decay / alpha, no
  // clipping.
  for (auto [name, alpha] : {std::pair{"scale_2", 2.0}, {"scale_0_2", 0.2}, {"scale_0_05", 0.05}}) {
    CAPTURE(name);
    if (!is_built(name)) continue;
    auto scaled = make_model(name), plain = make_model("baseline");
    set_in_blocks(*plain, "attention.out.weight", [alpha = alpha](std::int64_t, double old) { return alpha * old; });
    auto train = [&](LanguageModel& model, double out_factor) {
      std::vector<double> losses;
      std::vector<Tensor> first, second;
      for (const auto& p : model.parameters()) {
        first.push_back(Tensor::zeros(p->master().shape(), DType::F64));
        second.push_back(Tensor::zeros(p->master().shape(), DType::F64));
      }
      for (std::int64_t step = 1; step <= 10; ++step) {
        Tape tape;
        Var loss = model.loss(batch());
        losses.push_back(loss.value().item());
        tape.backward(loss);
        for (std::size_t n = 0; n < model.parameters().size(); ++n) {
          Parameter& p = *model.parameters()[n];
          double f = p.name().ends_with("attention.out.weight") ? out_factor : 1;
          adamw({.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8 / f, .weight_decay = 0.1 / f},
                make_step_scalars(1e-2 * f, step), p.var().grad(), p.mutable_master(), first[n], second[n]);
        }
        model.parameters().clear_gradients();
        model.parameters().refresh();
      }
      return losses;
    };
    std::vector<double> ours = train(*scaled, 1), expected = train(*plain, alpha), unscaled;
    for (std::size_t step = 0; step < 10; ++step) CHECK(ours[step] == doctest::Approx(expected[step]).epsilon(1e-11));
    auto not_scaled = make_model("baseline");
    set_in_blocks(*not_scaled, "attention.out.weight",
                  [alpha = alpha](std::int64_t, double old) { return alpha * old; });
    CHECK(std::abs(train(*not_scaled, 1)[9] - ours[9]) > 1e-6);
  }
}

TEST_CASE("p-norms: p = 1 is the sum") {
  if (!is_built("pnorm_sig_1") || !is_built("pnorm_sig_2")) return;
  CHECK(difference(*make_model("pnorm_sig_1"), *make_model("op_sigmoid_norm")) < 1e-12);
  CHECK(difference(*make_model("pnorm_sig_2"), *make_model("op_sigmoid_norm")) > 1e-3);
}

namespace {

struct parallel_residual : ablations::baseline {
  using Placement = ParallelResidual;
};
struct qkv_biases : ablations::baseline {
  using LinearBias = QkvLinearBias;
};
struct qkv_biases_nope : qkv_biases {
  using Position = NoPosition;
};
struct all_biases : ablations::baseline {
  using LinearBias = AllLinearBias;
};
struct all_biases_relu : all_biases {
  using FeedForward = ReluFeedForward;
};
struct post_layer_norm : ablations::norm_post {
  using Norm = LayerNorm;
};
struct qk_norm_nope : ablations::pos_nope {
  using QueryKeyNorm = RmsQueryKeyNorm;
};
struct tied : ablations::baseline {
  using Unembedding = TiedUnembedding;
};

Tensor hidden_after_block_1(LanguageModel& model) {
  Watcher watcher;
  model.logits(tokens(), {.hooks = &watcher});
  return watcher.hidden_L[1];
}

}  // namespace

TEST_CASE("parallel residual: a block adds what each sublayer alone would have added to its input") {
  auto model = make_model_of<parallel_residual>();
  auto attention = make_model("baseline"), feed_forward = make_model("baseline"), both = make_model("baseline");
  set_in_blocks(*attention, "feed_forward.down.weight", constant(0));
  set_in_blocks(*feed_forward, "attention.out.weight", constant(0));
  Watcher watcher;
  model->logits(tokens(), {.hooks = &watcher});
  const Tensor &x = watcher.hidden_L[0], &y = watcher.hidden_L[1];
  Tensor a = hidden_after_block_1(*attention), f = hidden_after_block_1(*feed_forward);
  for (std::int64_t n = 0; n < x.size(); ++n)
    REQUIRE(y.item(n) == doctest::Approx(a.item(n) + f.item(n) - x.item(n)).epsilon(1e-12));
  CHECK(difference(*model, *both) > 1e-3);
}

TEST_CASE("head width: wider heads whose further numbers are zero are the narrow ones, but for the scale of scores") {
  Sizes narrow = small_sizes(), wide = narrow;
  std::int64_t H = narrow.heads, C = narrow.width, D = narrow.width_of_head(), E = D + 4;
  wide.head_width = E;
  CHECK(wide.width_of_head() == E);
  auto small = make_model("pos_nope", narrow), large = make_model("pos_nope", wide);
  for (std::int64_t layer = 0; layer < narrow.layers; ++layer) {
    std::string prefix = "blocks." + std::to_string(layer) + ".attention.";
    Tensor qkv = parameter_of(*small, prefix + "qkv.weight").master();
    Tensor out = parameter_of(*small, prefix + "out.weight").master();
    REQUIRE(parameter_of(*large, prefix + "qkv.weight").master().shape() == Shape{3 * H * E, C});
    REQUIRE(parameter_of(*large, prefix + "out.weight").master().shape() == Shape{C, H * E});
    set(*large, prefix + "qkv.weight", [&](std::int64_t n, double) {
      std::int64_t row = n / C, head = row / E, d = row % E;  // of 3 H heads: queries, keys, values
      double scale = head < H ? std::sqrt(static_cast<double>(E) / static_cast<double>(D)) : 1;
      return d < D ? scale * qkv.item((head * D + d) * C + n % C) : 0;
    });
    set(*large, prefix + "out.weight", [&](std::int64_t n, double) {
      std::int64_t c = n / (H * E), head = n / E % H, d = n % E;
      return d < D ? out.item(c * H * D + head * D + d) : number("any", n);
    });
  }
  CHECK(difference(*large, *small) < 1e-13);
  // It need not have to do with the width of the model.
  Sizes apart = narrow;
  apart.heads = 5;
  apart.head_width = 6;
  Tensor logits = make_model("baseline", apart)->logits(tokens());
  for (std::int64_t n = 0; n < logits.size(); ++n) REQUIRE(std::isfinite(logits.item(n)));
}

TEST_CASE("linear bias: zero at first, and then all parameters and numbers are the baseline's") {
  auto plain = make_model("baseline"), all = make_model_of<all_biases>(), qkv = make_model_of<qkv_biases>();
  CHECK(difference(*all, *plain) == 0);
  CHECK(difference(*qkv, *plain) == 0);
  CHECK(all->parameters().size() == plain->parameters().size() + 4 * 2);
  CHECK(qkv->parameters().size() == plain->parameters().size() + 1 * 2);
}

TEST_CASE("linear bias: of values it is a V bias; of keys, without positions, it changes nothing; of queries it does") {
  Sizes s = small_sizes();
  std::int64_t E = s.heads * s.width_of_head();
  auto biased = make_model_of<qkv_biases>(), v_bias = make_model("bias_v");
  set_in_blocks(*biased, "attention.qkv.bias",
                [&](std::int64_t n, double) { return n < 2 * E ? 0 : number("any", n - 2 * E); });
  set_in_blocks(*v_bias, "attention.extra.value", any_number);
  CHECK(difference(*biased, *v_bias) < 1e-13);
  auto nope = make_model("pos_nope"), nope_biased = make_model_of<qkv_biases_nope>();
  set_in_blocks(*nope_biased, "attention.qkv.bias",
                [&](std::int64_t n, double) { return n >= E && n < 2 * E ? number("any", n) : 0; });
  CHECK(difference(*nope_biased, *nope) < 1e-13);
  set_in_blocks(*nope_biased, "attention.qkv.bias",
                [&](std::int64_t n, double) { return n < E ? number("any", n) : 0; });
  CHECK(difference(*nope_biased, *nope) > 1e-3);
}

TEST_CASE("linear bias: with no weights, a block adds out's bias and the feed-forward of its biases alone") {
  Sizes s = small_sizes();
  std::int64_t C = s.width, F = s.feed_forward;
  for (bool gated : {true, false}) {
    CAPTURE(gated);
    std::string up = gated ? "gate_up" : "up";
    auto model = gated ? make_model_of<all_biases>() : make_model_of<all_biases_relu>();
    set_in_blocks(*model, "attention.out.weight", constant(0));
    set_in_blocks(*model, "feed_forward." + up + ".weight", constant(0));
    set_in_blocks(*model, "attention.out.bias", [](std::int64_t n, double) { return number("out", n); });
    set_in_blocks(*model, "feed_forward." + up + ".bias", [](std::int64_t n, double) { return number("up", n); });
    set_in_blocks(*model, "feed_forward.down.bias", [](std::int64_t n, double) { return number("down", n); });
    Tensor down_CF = parameter_of(*model, "blocks.0.feed_forward.down.weight").master();
    Watcher watcher;
    model->logits(tokens(), {.hooks = &watcher});
    for (std::int64_t c = 0; c < C; ++c) {
      double added = number("out", c) + number("down", c);
      for (std::int64_t f = 0; f < F; ++f) {
        double b = number("up", f);
        added += down_CF.item(c * F + f) * (gated ? b / (1 + std::exp(-b)) * number("up", F + f) : std::max(b, 0.0));
      }
      for (std::int64_t row : {0, 7})
        CHECK(watcher.hidden_L[1].item(row * C + c) - watcher.hidden_L[0].item(row * C + c) ==
              doctest::Approx(added).epsilon(1e-10));
    }
  }
}

TEST_CASE("tied unembedding: is the token embedding, whose gradient is the sum of both uses") {
  auto one = make_model_of<tied>(), two = make_model("baseline");
  Tensor table = parameter_of(*one, "embedding.token.weight").master();
  set(*two, "unembedding.weight", [&](std::int64_t n, double) { return table.item(n); });
  CHECK(difference(*one, *two) == 0);
  CHECK(one->parameters().size() + 1 == two->parameters().size());
  CHECK(one->training_flops(10, 13) == two->training_flops(10, 13));
  for (auto* model : {one.get(), two.get()}) {
    model->parameters().allocate_gradients();
    Tape tape;
    tape.backward(model->loss(batch()));
  }
  Tensor sum = parameter_of(*one, "embedding.token.weight").var().grad();
  Tensor in = parameter_of(*two, "embedding.token.weight").var().grad();
  Tensor out = parameter_of(*two, "unembedding.weight").var().grad();
  for (std::int64_t n = 0; n < sum.size(); ++n)
    REQUIRE(sum.item(n) == doctest::Approx(in.item(n) + out.item(n)).epsilon(1e-12));
}

TEST_CASE("epsilon: of norms of the residual stream, r = 1 / sqrt(mean square or variance + epsilon)") {
  Sizes wide = small_sizes();
  wide.norm_epsilon = 0.5;
  std::int64_t C = wide.width;
  for (bool layer_norm : {false, true}) {
    CAPTURE(layer_norm);
    auto model = layer_norm ? make_model_of<post_layer_norm>(wide) : make_model("norm_post", wide);
    Watcher watcher;
    model->logits(tokens(), {.hooks = &watcher});
    const Tensor &before = watcher.before_norm_L[0], &after = watcher.hidden_L[1];
    for (std::int64_t row : {0, 7}) {
      double mean = 0, squares = 0;
      for (std::int64_t c = 0; c < C; ++c) mean += layer_norm ? before.item(row * C + c) / static_cast<double>(C) : 0;
      for (std::int64_t c = 0; c < C; ++c) squares += std::pow(before.item(row * C + c) - mean, 2);
      double r = 1 / std::sqrt(squares / static_cast<double>(C) + 0.5);
      for (std::int64_t c = 0; c < C; ++c)
        CHECK(after.item(row * C + c) == doctest::Approx((before.item(row * C + c) - mean) * r).epsilon(1e-10));
    }
  }
  wide.norm_epsilon = 1e-5;
  CHECK(difference(*make_model("baseline", wide), *make_model("baseline")) == 0);
}

TEST_CASE("epsilon: of normed queries and keys") {
  Sizes wide = small_sizes();
  wide.norm_epsilon = 0.5;
  auto normed = make_model_of<qk_norm_nope>(wide), plain = make_model("pos_nope", wide);
  Watcher with, without;
  normed->logits(tokens(), {.hooks = &with});
  plain->logits(tokens(), {.hooks = &without});
  std::int64_t D = small_sizes().width_of_head();
  for (auto tensors : {std::pair{with.q_L[0], without.q_L[0]}, std::pair{with.k_L[0], without.k_L[0]}})
    for (std::int64_t row : {0, 30}) {
      double squares = 0;
      for (std::int64_t d = 0; d < D; ++d) squares += std::pow(tensors.second.item(row * D + d), 2);
      for (std::int64_t d = 0; d < D; ++d)
        CHECK(tensors.first.item(row * D + d) ==
              doctest::Approx(tensors.second.item(row * D + d) / std::sqrt(squares / static_cast<double>(D) + 0.5))
                  .epsilon(1e-10));
    }
}

TEST_CASE("rotary: with a base and a part of its own, the first numbers of a head turn by t base^(-2d/width) alone") {
  Sizes s = small_sizes();
  std::int64_t D = s.width_of_head(), R = D / 2, T = s.context;
  s.rotary_base = 500;
  s.rotary_part = 0.5;
  auto rotated = make_model("baseline", s), plain = make_model("pos_nope");
  Watcher with, without;
  rotated->logits(tokens(), {.hooks = &with});
  plain->logits(tokens(), {.hooks = &without});
  for (std::int64_t row = 0; row < with.q_L[0].size() / D; ++row) {
    auto x = [&](std::int64_t d) { return without.q_L[0].item(row * D + d); };
    for (std::int64_t d = 0; d < D; ++d) {
      double angle =
          static_cast<double>(row % T) * std::pow(500, -2 * static_cast<double>(d % (R / 2)) / static_cast<double>(R));
      double wanted = x(d);
      if (d < R / 2) wanted = x(d) * std::cos(angle) - x(d + R / 2) * std::sin(angle);
      if (d >= R / 2 && d < R) wanted = x(d - R / 2) * std::sin(angle) + x(d) * std::cos(angle);
      REQUIRE(with.q_L[0].item(row * D + d) == doctest::Approx(wanted).epsilon(1e-10));
    }
  }
  Sizes six = s;
  six.head_width = 6;  // half of it is odd
  check_refused([&] { make_model("baseline", six); }, {"even width", "6, of which 0.5"}, Exit::usage);
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
