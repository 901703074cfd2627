// Position policies and masks in whole models, each by a property that only it has.
#include <doctest/doctest.h>

#include <cmath>

#include "model/position/alibi_position.h"
#include "model/position/relative_position.h"
#include "tests/model/model_support.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

Tensor repeated_tokens(std::int64_t B, std::int64_t T, std::int32_t id) {
  Tensor tokens_BT = Tensor::empty({B, T}, DType::I32);
  for (std::int64_t n = 0; n < tokens_BT.size(); ++n) tokens_BT.data<std::int32_t>()[n] = id;
  return tokens_BT;
}

}  // namespace

TEST_CASE("ALiBi: the slopes of the paper, also for numbers of heads that are no power of two") {
  std::vector<double> eight = alibi_slopes(8), three = alibi_slopes(3), six = alibi_slopes(6);
  for (std::size_t h = 0; h < 8; ++h) CHECK(eight[h] == std::exp2(-static_cast<double>(h + 1)));
  CHECK(three == std::vector<double>{1.0 / 16, 1.0 / 256, 1.0 / 4});
  CHECK(six == std::vector<double>{1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8});
  CHECK(alibi_slopes(1) == std::vector<double>{1.0 / 256});
}

TEST_CASE("relative buckets: the first distance of each, as the paper's code gives them") {
  const std::vector<std::int64_t> first{16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (std::int64_t n = 0; n < 16; ++n) CHECK(relative_bucket(n) == n);
  for (std::size_t bucket = 0; bucket < first.size(); ++bucket) {
    CHECK(relative_bucket(first[bucket]) == 16 + static_cast<std::int64_t>(bucket));
    CHECK(relative_bucket(first[bucket] - 1) == 15 + static_cast<std::int64_t>(bucket));
  }
  CHECK(relative_bucket(100000) == 31);
}

TEST_CASE("repeated tokens: the closed forms of the paper's appendix C.1") {
  Sizes s = small_sizes();
  std::int64_t T = s.context;
  Tensor tokens = repeated_tokens(1, T, 9);
  for (std::string name : {"pos_nope", "pos_alibi", "pos_relative", "baseline", "pos_learnable", "pos_absolute"}) {
    CAPTURE(name);
    auto model = make_model(name, s);
    Watcher watcher;
    model->logits(tokens, {.hooks = &watcher});
    bool equal_states = name != "pos_learnable" && name != "pos_absolute";
    // With no position in the residual stream all rows average equal values: h_1 = ... = h_T.
    double worst = 0;
    for (const Tensor& x : watcher.hidden_L)
      for (std::int64_t n = 0; n < x.size(); ++n) keep_worst(worst, std::abs(x.item(n) - x.item(n % s.width)));
    CHECK((worst < 1e-12) == equal_states);
    if (!equal_states) continue;
    for (std::size_t layer = 0; layer < watcher.map_LH.size(); ++layer)
      for (std::size_t h = 0; h < 3; ++h) {
        const Tensor& a_TT = watcher.map_LH[layer][h];
        double squares_q = 0, squares_k = 0;  // of head h at any position: rotation keeps lengths
        for (std::int64_t d = 0; d < s.width_of_head(); ++d) {
          std::int64_t n = static_cast<std::int64_t>(h) * T * s.width_of_head() + d;
          squares_q += std::pow(watcher.q_L[layer].item(n), 2);
          squares_k += std::pow(watcher.k_L[layer].item(n), 2);
        }
        double xi = std::sqrt(squares_q * squares_k) / std::sqrt(static_cast<double>(s.width_of_head()));
        for (std::int64_t t = 0; t < T; ++t) {
          auto bias = [&](std::int64_t i) {
            if (name == "pos_alibi") return -alibi_slopes(3)[h] * static_cast<double>(t - i);
            return name == "pos_relative" ? static_cast<double>(relative_bucket(t - i)) : 0.0;
          };
          double sum = 0;
          for (std::int64_t i = 0; i <= t; ++i) sum += std::exp(bias(i));
          for (std::int64_t i = 0; i <= t; ++i) {
            double a = a_TT.item(t * T + i);
            if (name == "baseline") {  // Proposition 4
              CHECK(a <= std::exp(2 * xi) / (std::exp(2 * xi) + static_cast<double>(t)) + 1e-12);
            } else {  // Propositions 1 to 3
              CHECK(a == doctest::Approx(std::exp(bias(i)) / sum).epsilon(1e-10));
            }
          }
        }
      }
  }
}

TEST_CASE("masks: a window of T keys and a prefix of 1 change nothing, bit for bit; smaller ones do") {
  for (std::string name : {"baseline", "op_sigmoid_none", "bias_kv", "pos_alibi", "op_softpick", "op_clipped"}) {
    CAPTURE(name);
    if (!is_built(name)) continue;
    Sizes s = small_sizes(), wide = s, narrow = s, prefix_1 = s, prefix_4 = s;
    wide.window = s.context;
    prefix_1.prefix = 1;
    narrow.window = 4;
    prefix_4.prefix = 4;
    Tensor tokens = random_tokens(2, s.context, s.vocabulary);
    auto logits = [&](const Sizes& sizes) { return make_model(name, sizes, DType::F32)->logits(tokens); };
    Tensor causal = logits(s);
    CHECK(relative_difference(logits(wide), causal) == 0);
    CHECK(relative_difference(logits(prefix_1), causal) == 0);
    CHECK(relative_difference(logits(narrow), causal) > 1e-4);
    CHECK(relative_difference(logits(prefix_4), causal) > 1e-4);
  }
}

TEST_CASE("causality: a token changes no logits before it, bit for bit, in every ablation") {
  for (DType type : {DType::F32, DType::BF16})
    for (const Ablation& ablation : all_ablations()) {
      CAPTURE(ablation.name);
      Sizes s{.layers = 2, .heads = 1, .width = 64, .feed_forward = 16, .context = 37, .vocabulary = 31};
      auto model = ablation.make_model(s, InitScheme::torch, 5, type);
      Tensor tokens = random_tokens(1, s.context, s.vocabulary), changed = tokens.clone();
      std::int64_t j = 21;
      changed.data<std::int32_t>()[j] = (changed.data<std::int32_t>()[j] + 1) % 31;
      Tensor before = model->logits(tokens), after = model->logits(changed);
      std::int64_t different = 0;
      for (std::int64_t n = 0; n < before.size(); ++n) {
        bool earlier = n / s.vocabulary < j;
        if (earlier) REQUIRE(before.item(n) == after.item(n));
        different += !earlier && before.item(n) != after.item(n);
      }
      CHECK(different > 0);
    }
}
