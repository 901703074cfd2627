// Sizes and policies in which families of open models differ, each by a property that only it has.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

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

Watcher watch(LanguageModel& model) {
  Watcher watcher;
  model.logits(tokens(), {.hooks = &watcher});
  return watcher;
}

double difference(LanguageModel& x, LanguageModel& y) {
  return relative_difference(x.logits(tokens()), y.logits(tokens()));
}

}  // namespace

TEST_CASE("global blocks: one block in so many sees all keys, the others have the window") {
  Sizes all = small_sizes(), windowed = all, mixed = all;
  all.layers = windowed.layers = mixed.layers = 2;
  windowed.window = mixed.window = 3;
  mixed.global_every = 2;
  auto a = make_model("baseline", all), w = make_model("baseline", windowed), m = make_model("baseline", mixed);
  CHECK(relative_difference(watch(*m).hidden_L[1], watch(*w).hidden_L[1]) == 0);
  CHECK(difference(*m, *w) > 1e-3);
  CHECK(difference(*m, *a) > 1e-3);
  // Without the first block's attention only the second is left, which has no window.
  for (LanguageModel* model : {a.get(), m.get()})
    set(*model, "blocks.0.attention.out.weight", [](std::int64_t, double) { return 0.0; });
  CHECK(difference(*m, *a) == 0);
}

TEST_CASE("local base: blocks with a window turn by it, the others by the usual one") {
  Sizes mixed = small_sizes(), local = mixed, usual = mixed;
  mixed.window = local.window = 3;
  mixed.global_every = 2;
  mixed.rotary_local_base = local.rotary_base = 50;
  auto m = make_model("baseline", mixed), l = make_model("baseline", local), u = make_model("baseline", usual);
  for (LanguageModel* model : {m.get(), l.get(), u.get()})
    set(*model, "blocks.0.attention.out.weight", [](std::int64_t, double) { return 0.0; });
  CHECK(relative_difference(watch(*m).q_L[0], watch(*l).q_L[0]) == 0);
  CHECK(relative_difference(watch(*m).q_L[0], watch(*u).q_L[0]) > 1e-3);
  CHECK(relative_difference(watch(*m).q_L[1], watch(*u).q_L[1]) == 0);
}

TEST_CASE("attention scale: of scores, as queries that are so much longer") {
  Sizes s = small_sizes(), scaled = s;
  scaled.attention_scale = 0.9;
  const double longer = 0.9 * std::sqrt(static_cast<double>(s.width_of_head()));
  auto plain = make_model("baseline", s), other = make_model("baseline", scaled);
  CHECK(difference(*plain, *other) > 1e-3);
  const std::int64_t queries = s.heads * s.width_of_head() * s.width;
  set_in_blocks(*plain, "attention.qkv.weight",
                [&](std::int64_t n, double old) { return n < queries ? longer * old : old; });
  CHECK(difference(*plain, *other) < 1e-13);
}

TEST_CASE("rotary factor: position 4 p of a context four times as long turns as p did") {
  Sizes s = small_sizes(), slow = s;
  slow.rotary_factor = 4;
  auto plain = make_model("baseline", s), slowed = make_model("baseline", slow);
  Tensor same = Tensor::empty({1, s.context}, DType::I32);
  for (std::int64_t t = 0; t < s.context; ++t) same.data<std::int32_t>()[t] = 7;
  Watcher of_plain, of_slowed;
  plain->logits(same, {.hooks = &of_plain});
  slowed->logits(same, {.hooks = &of_slowed});
  const std::int64_t D = s.width_of_head();
  for (std::int64_t p = 0; 4 * p < s.context; ++p)
    for (std::int64_t d = 0; d < D; ++d)
      CHECK(of_slowed.q_L[0].item(4 * p * D + d) == doctest::Approx(of_plain.q_L[0].item(p * D + d)).epsilon(1e-12));
}

TEST_CASE("blocks without rotary positions: every n-th, whose queries are the same at all positions") {
  Sizes s = small_sizes();
  s.layers = 4;
  s.no_rope_every = 2;
  auto model = make_model("baseline", s);
  Tensor same = Tensor::empty({1, s.context}, DType::I32);
  for (std::int64_t t = 0; t < s.context; ++t) same.data<std::int32_t>()[t] = 7;
  Watcher watcher;
  model->logits(same, {.hooks = &watcher});
  // All values of one token are alike, so every block's inputs are the same at all positions.
  for (std::size_t layer = 0; layer < 4; ++layer) {
    double most = 0;
    const Tensor& q = watcher.q_L[layer];
    for (std::int64_t n = 0; n < q.size(); ++n) {
      const std::int64_t D = s.width_of_head(), first = n / (s.context * D) * s.context * D + n % D;
      keep_worst(most, std::abs(q.item(n) - q.item(first)));
    }
    CAPTURE(layer);
    CHECK((most < 1e-12) == (layer % 2 == 1));
  }
}

TEST_CASE("YaRN's rotations: fast pairs as they were, slow ones by the factor, and all vectors longer") {
  Sizes s = small_sizes();
  s.head_width = 12;
  s.rotary_base = 500;
  s.rotary_factor = 8;
  s.rotary_context = 300;
  const std::string with_yarn = "gpt_oss", without = "op_sink_logit";
  if (!is_built(with_yarn) || !is_built(without)) return;
  auto yarn = make_model(with_yarn, s), plain = make_model(without, s);
  // One token at all positions: its queries in the first layer are one vector, turned.
  Tensor same = Tensor::empty({1, s.context}, DType::I32);
  for (std::int64_t t = 0; t < s.context; ++t) same.data<std::int32_t>()[t] = 7;
  Watcher watcher, of_plain;
  yarn->logits(same, {.hooks = &watcher});
  plain->logits(same, {.hooks = &of_plain});
  const std::int64_t D = 12;
  const double length = 0.1 * std::log(8.0) + 1;
  auto q = [&](std::int64_t t, std::int64_t d) { return watcher.q_L[0].item(t * D + d) / length; };
  // At position 0 nothing turns, and a query of the same weights without YaRN is shorter.
  for (std::int64_t d = 0; d < D; ++d) CHECK(q(0, d) == doctest::Approx(of_plain.q_L[0].item(d)).epsilon(1e-12));
  int kept = 0, slowed = 0, between = 0;
  for (std::int64_t e = 0; e < D / 2; ++e) {
    double f = std::pow(500.0, -2.0 * static_cast<double>(e) / 12);
    // Pairs that turn 32 times and once within the first context: e = 6 ln(300 / (2 pi n)) / ln 500.
    const double first = 6 * std::log(300 / (64 * std::numbers::pi)) / std::log(500.0);
    const double last = 6 * std::log(300 / (2 * std::numbers::pi)) / std::log(500.0);
    const double part = std::clamp((static_cast<double>(e) - first) / (last - first), 0.0, 1.0);
    (part == 0 ? kept : part == 1 ? slowed : between)++;
    f = (1 - part) * f + part * f / 8;
    for (std::int64_t t = 1; t < s.context; ++t) {
      const double angle = static_cast<double>(t) * f, x = q(0, e), y = q(0, e + D / 2);
      CHECK(q(t, e) == doctest::Approx(x * std::cos(angle) - y * std::sin(angle)).epsilon(1e-10));
      CHECK(q(t, e + D / 2) == doctest::Approx(x * std::sin(angle) + y * std::cos(angle)).epsilon(1e-10));
    }
  }
  CHECK((kept > 0 && slowed > 0 && between > 0));
}

TEST_CASE("experts: what was not chosen does not count; what was is weighed by the router") {
  if (!is_built("gpt_oss")) return;
  Sizes s = small_sizes();
  s.layers = 1;
  s.experts = 4;
  s.chosen_experts = 2;
  auto a = make_model("gpt_oss", s), b = make_model("gpt_oss", s);
  const std::string feed = "blocks.0.feed_forward.";
  for (LanguageModel* model : {a.get(), b.get()}) {
    set(*model, feed + "router.weight", [](std::int64_t, double) { return 0.0; });
    set(*model, feed + "router.bias", [](std::int64_t e, double) { return std::array{0.0, 2.0, 1.0, -1.0}[e]; });
  }
  // Experts 0 and 3 are others in b: the same logits. Expert 2: not.
  const std::int64_t rows = 2 * s.feed_forward * s.width;
  set(*b, feed + "gate_up.weight", [&](std::int64_t n, double old) { return n / rows % 3 == 0 ? 5 : old; });
  CHECK(difference(*a, *b) == 0);
  set(*b, feed + "gate_up.weight", [&](std::int64_t n, double old) { return n / rows == 2 ? 0.5 : old; });
  CHECK(difference(*a, *b) > 1e-3);
  s.chosen_experts = 5;
  check_refused([&] { make_model("gpt_oss", s); }, {"5 of 4"}, Exit::usage);
}

TEST_CASE("LLaMA 3's rotations: by wavelength, as its formula has it") {
  if (!is_built("llama3") || !is_built("pos_nope")) return;
  Sizes s = small_sizes();
  s.head_width = 8;
  s.rotary_base = 30;
  s.rotary_factor = 8;
  s.rotary_context = 40;
  auto rotated = make_model("llama3", s), plain = make_model("pos_nope", s);
  Watcher with = watch(*rotated), without = watch(*plain);
  const std::int64_t D = 8, T = s.context;
  int kept = 0, slowed = 0, between = 0;
  for (std::int64_t row = 0; row < with.q_L[0].size() / D; ++row)
    for (std::int64_t e = 0; e < D / 2; ++e) {
      double f = std::pow(30.0, -2.0 * static_cast<double>(e) / 8);
      const double wavelength = 2 * std::numbers::pi / f;
      if (wavelength > 40.0 / 1) {
        f /= 8, ++slowed;
      } else if (wavelength >= 40.0 / 4) {
        const double smooth = (40.0 / wavelength - 1) / (4 - 1);
        f = (1 - smooth) * f / 8 + smooth * f, ++between;
      } else {
        ++kept;
      }
      const double angle = static_cast<double>(row % T) * f;
      const double x = without.q_L[0].item(row * D + e), y = without.q_L[0].item(row * D + e + D / 2);
      CHECK(with.q_L[0].item(row * D + e) == doctest::Approx(x * std::cos(angle) - y * std::sin(angle)).epsilon(1e-10));
      CHECK(with.q_L[0].item(row * D + e + D / 2) ==
            doctest::Approx(x * std::sin(angle) + y * std::cos(angle)).epsilon(1e-10));
    }
  CHECK((kept > 0 && slowed > 0 && between > 0));
  s.rotary_factor = 0;
  CHECK(relative_difference(make_model("llama3", s)->logits(tokens()), make_model("baseline", s)->logits(tokens())) ==
        0);
}
