// The logit lens against a forward pass whose last block's output is replaced by an earlier one's, and against loss().
#include "eval/lens/logit_lens.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/check.h"
#include "engine/io/str_format.h"
#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/lens/lens_output.h"
#include "model/all_ablations.h"
#include "tests/support/built_ablations.h"
#include "tests/support/subprocess.h"

using namespace sink;
using test::is_built;

namespace {

constexpr std::int64_t kLayers = 3, kVocabulary = 23, kTokens = 7;

// Keeps the residual stream of each layer, or puts one in the place of the last.
struct Streams final : HiddenStateHooks {
  std::vector<Tensor> kept;
  std::int64_t in_place = -1;
  void hidden_state(std::int64_t, const Tensor& x_BTC) override {
    if (in_place < 0) kept.push_back(x_BTC.clone());
  }
  void residual_post(std::int64_t layer, Residual& x) override {
    HiddenStateHooks::residual_post(layer, x);
    if (in_place >= 0 && layer == kLayers - 1) x = Var(kept[static_cast<std::size_t>(in_place)]);
  }
};

}  // namespace

TEST_CASE("logit lens: each layer is what the model gives if that layer's output is the last block's") {
  for (const char* ablation : {"baseline", "norm_post", "bias_sinktoken", "pos_learnable", "norm_layer", "gate_head"}) {
    if (!is_built(ablation)) continue;
    CAPTURE(ablation);
    const Sizes sizes{
        .layers = kLayers, .heads = 4, .width = 32, .feed_forward = 24, .context = 16, .vocabulary = kVocabulary};
    auto model = ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
    const Batch text = random_tokens(kVocabulary, 1, kTokens, 5, 0);
    const Lens lens = logit_lens(*model, text.tokens_BT());
    REQUIRE(lens.size() == kLayers + 1);
    Streams streams;
    const Tensor last = model->logits(text.tokens_BT(), {.hooks = &streams});
    for (std::int64_t l = 0; l <= kLayers; ++l) {
      streams.in_place = l;
      const Tensor logits = model->logits(text.tokens_BT(), {.hooks = &streams});
      for (std::int64_t t = 0; t < kTokens; ++t) {
        const double *z = logits.data<double>() + t * kVocabulary, *y = last.data<double>() + t * kVocabulary;
        double sum_z = 0, sum_y = 0, divergence = 0;
        for (std::int64_t v = 0; v < kVocabulary; ++v) sum_z += std::exp(z[v]), sum_y += std::exp(y[v]);
        for (std::int64_t v = 0; v < kVocabulary; ++v)
          divergence += std::exp(y[v]) / sum_y * (y[v] - std::log(sum_y) - z[v] + std::log(sum_z));
        const LensCell& cell = lens[static_cast<std::size_t>(l)][static_cast<std::size_t>(t)];
        const auto best = std::max_element(z, z + kVocabulary) - z;
        CHECK(cell.token == best);
        CHECK(cell.probability == doctest::Approx(std::exp(z[best]) / sum_z).epsilon(1e-12));
        CHECK(cell.divergence == doctest::Approx(divergence).epsilon(1e-9));
        if (t + 1 < kTokens)
          CHECK(cell.loss ==
                doctest::Approx(std::log(sum_z) - z[text.tokens_BT().data<std::int32_t>()[t + 1]]).epsilon(1e-12));
        else
          CHECK(std::isnan(cell.loss));
      }
    }
    streams.in_place = 0;
    CHECK(lens[0][0].divergence > 1e-6);  // the layers differ
    CHECK(lens[kLayers][0].divergence == doctest::Approx(0));
  }
}

TEST_CASE("logit lens: positions of a prefix, which see their next token, have no loss") {
  constexpr std::int64_t kPrefix = 3;
  const Sizes sizes{.layers = 2,
                    .heads = 4,
                    .width = 32,
                    .feed_forward = 24,
                    .context = 16,
                    .vocabulary = kVocabulary,
                    .prefix = kPrefix};
  auto model = ablation_named("baseline").make_model(sizes, InitScheme::torch, 3, DType::F64);
  const Tensor tokens = random_tokens(kVocabulary, 1, kTokens, 5, 0).tokens_BT();
  const Lens lens = logit_lens(*model, tokens);
  double loss = 0;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const double cell = lens.back()[static_cast<std::size_t>(t)].loss;
    CHECK(std::isnan(cell) == (t < kPrefix - 1 || t == kTokens - 1));
    if (!std::isnan(cell)) loss += cell / (kTokens - kPrefix);
  }
  CHECK(loss == doctest::Approx(model->loss(given_tokens(tokens, kVocabulary, kPrefix), 1, {}).value().item()));
  const LensLabels labels{.model = "m",
                          .ablation = "baseline",
                          .tokens_T = {tokens.data<std::int32_t>(), tokens.data<std::int32_t>() + kTokens},
                          .token_text = [](std::int32_t id) { return std::to_string(id); }};
  CHECK(contains(lens_table(lens, labels), str_format(" %.2f\n", loss)));
}

TEST_CASE("logit lens: refused where values of the model overflow") {
  const Sizes sizes{.layers = 2, .heads = 4, .width = 32, .feed_forward = 24, .context = 16, .vocabulary = kVocabulary};
  auto model = ablation_named("baseline").make_model(sizes, InitScheme::torch, 3, DType::F64);
  for (const auto& parameter : model->parameters()) {
    if (!parameter->name().ends_with("qkv.weight")) continue;
    Tensor values = parameter->mutable_master().reshape({parameter->master().size()});
    view<double, 1>(values) *= 1e200;
  }
  model->parameters().refresh();
  try {
    logit_lens(*model, random_tokens(kVocabulary, 1, kTokens, 5, 0).tokens_BT());
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.code == Exit::diverged);
    CHECK(std::string(error.what()).find("the loss is not finite") == 0);
  }
}

TEST_CASE("logit lens: the command writes a table, JSON and a picture, and refuses what it cannot do") {
  const TemporaryFolder folder;
  const std::string model = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/models/llama",
                    tokens = folder / "tokens.txt", picture = folder / "lens.svg", json = folder / "lens.json";
  write_bytes(tokens, "1 5 9 14 3 22\n");
  const auto run = [&](const std::string& options, int code) {
    Subprocess program(folder, words_of("eval_baseline lens " + model + options));
    CHECK_MESSAGE(program.wait() == code, program.err());
    return program.out() + program.err();
  };
  CHECK(contains(run(" --tokens " + tokens + " --picture " + picture + " --out " + json, 0), "settled"));
  CHECK(contains(read_bytes(json), "\"divergence\""));
  CHECK(contains(read_bytes(picture), "<title>logit lens</title>"));
  CHECK(contains(run("", 2), "lens needs --text, --text-file or --tokens"));
  CHECK(contains(run(" --tokens " + tokens + " --picture " + tokens, 2), "not a picture of a logit lens"));
}
