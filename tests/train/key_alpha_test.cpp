// --key-alpha-every: alpha of every key against stored patterns and against the evaluation's, the lines of a run that
// is stopped and resumed, and that nothing of training changes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/io/checkpoint.h"
#include "engine/tensor_view.h"
#include "model/all_ablations.h"
#include "tests/support/built_ablations.h"
#include "tests/support/subprocess.h"
#include "train/training_run.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

RunConfig small() {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = config.heads = 2;
  config.width = config.feed_forward = 16;
  config.context = 24;
  config.batch = 3;
  config.warmup = 0;
  config.eval_sequences = 2;
  return config;
}

// alpha from the patterns, whose weights are positive where a row sees a key.
struct PatternHooks final : ForwardHooks {
  explicit PatternHooks(std::int64_t extra_tokens) : extra_tokens(extra_tokens) {}
  void attention(AttentionPoint& point) override {
    const std::int64_t B = point.q_BHTD.dim(0), H = point.q_BHTD.dim(1);
    const auto columns = static_cast<std::size_t>(extra_tokens + (point.has_extra_key ? 1 : 0));
    alpha.emplace_back(static_cast<std::size_t>(H));
    star.emplace_back(static_cast<std::size_t>(H), 0.0);
    for (std::int64_t h = 0; h < H; ++h) {
      std::vector<double>& alpha_K = alpha.back()[static_cast<std::size_t>(h)];
      for (std::int64_t b = 0; b < B; ++b) {
        const Tensor pattern = point.pattern(b, h);
        const auto a = view<double, 2>(pattern);
        alpha_K.resize(a.shape(1) - columns);
        for (std::size_t k = 0; k < a.shape(1); ++k) {
          double sum = 0, rows = 0;
          for (std::size_t i = 0; i < a.shape(0); ++i) {
            double of_row = 0;
            for (std::size_t j = 0; j < a.shape(1); ++j) of_row += std::abs(a(i, j));
            sum += std::abs(a(i, k)) / of_row;
            rows += a(i, k) != 0;
          }
          if (k < columns && point.has_extra_key) ++sum, ++rows;  // its own row
          (k < columns ? star.back()[static_cast<std::size_t>(h)] : alpha_K[k - columns]) +=
              sum / rows / static_cast<double>(B);
        }
      }
    }
  }
  std::int64_t extra_tokens;
  std::vector<ValueTable> alpha;
  ValueTable star;
};

double largest_difference(const ValueTable& a, const ValueTable& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t row = 0; row < a.size(); ++row) {
    REQUIRE(a[row].size() == b[row].size());
    for (std::size_t k = 0; k < a[row].size(); ++k) {
      REQUIRE(std::isfinite(a[row][k]));
      if (const double d = std::abs(a[row][k] - b[row][k]); !(d <= largest)) largest = d;
    }
  }
  return largest;
}

std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream text(read_bytes(path));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::string flags() {
  return "train_baseline --task bigram-backcopy --layers 2 --heads 2 --d-model 16 --feed-forward 16 --context 24 "
         "--batch 2 --accumulate 2 --eval-sequences 2 --eval-every 3 --warmup 0 ";
}

}  // namespace

TEST_CASE("key alpha: every key has the alpha of the stored patterns of the step's batch") {
  for (const std::string ablation : {"baseline", "bias_k", "bias_sinktoken", "op_sigmoid_none"})
    for (const bool has_window : {false, true}) {
      if (!test::is_built(ablation)) continue;
      CAPTURE(ablation);
      CAPTURE(has_window);
      RunConfig config = small();
      if (has_window) config.window = 7, config.prefix = 2;
      TrainingRun run(config, ablation_named(ablation));
      run.step();
      run.step();
      PatternHooks expected(run.model().extra_tokens());
      const Batch batch = run.data().train_batch(1, 0, config.batch);
      run.model().loss(batch, 1, {.hooks = &expected});
      const SinkScores scores = run.key_alpha();
      REQUIRE(scores.alpha_layer_head_k.size() == 2);
      for (std::size_t l = 0; l < 2; ++l) {
        REQUIRE(scores.alpha_layer_head_k[l][0].size() == 24);
        CHECK(largest_difference(scores.alpha_layer_head_k[l], expected.alpha[l]) < 2e-6);
      }
      CHECK(scores.alpha_star_layer_head.empty() == (ablation == "baseline" || ablation == "op_sigmoid_none"));
      if (!scores.alpha_star_layer_head.empty())
        CHECK(largest_difference(scores.alpha_star_layer_head, expected.star) < 2e-6);
      const Evaluation evaluation = evaluate(run.model(), batch, config.batch, false);
      for (std::size_t l = 0; l < 2; ++l) {
        ValueTable first_keys = scores.alpha_layer_head_k[l];
        for (std::vector<double>& alpha_K : first_keys) alpha_K.resize(kSinkPositions);
        CHECK(largest_difference(first_keys, evaluation.proxy.alpha_layer_head_k[l]) < 2e-6);
      }
    }
}

TEST_CASE("key alpha: packed documents count the rows of their document alone") {
  RunConfig config = small();
  TrainingRun run(config, ablation_named("baseline"));
  const Batch batch = run.data().train_batch(0, 0, config.batch);
  Tensor starts_BT = Tensor::zeros({3, 24}, DType::I32);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t t = 5 + 4 * b; t < 24; ++t)
      starts_BT.data<std::int32_t>()[b * 24 + t] = static_cast<std::int32_t>(5 + 4 * b);
  const Batch packed(batch.tokens_BT(), batch.targets_BT(), batch.vocabulary(), {starts_BT, {}});
  PatternHooks expected(0);
  run.model().loss(packed, 1, {.hooks = &expected});
  const SinkScores scores = scores_of_every_key(run.model(), packed);
  for (std::size_t l = 0; l < 2; ++l) CHECK(largest_difference(scores.alpha_layer_head_k[l], expected.alpha[l]) < 2e-6);
}

TEST_CASE("key alpha: lines of every second step, the same after a resume, and the same training") {
  TemporaryFolder folder;
  const auto train = [&](const std::string& more, int code = 0) {
    Subprocess program(folder, words_of(flags() + more));
    CHECK_MESSAGE(program.wait() == code, program.err());
    return program.err();
  };
  train("--steps 6 --key-alpha-every 2 --run " + folder / "with");
  train("--steps 6 --run " + folder / "without");
  train("--steps 4 --key-alpha-every 2 --run " + folder / "resumed");
  const std::string refusal =
      train("--steps 6 --key-alpha-every 3 --resume auto --run " + folder / "resumed", static_cast<int>(Exit::usage));
  CHECK(refusal.find("was made with key-alpha-every = 2, this run has key-alpha-every = 3") != std::string::npos);
  train("--steps 6 --key-alpha-every 2 --resume auto --run " + folder / "resumed");

  const std::vector<Json> with = lines_of(folder / "with/metrics.jsonl"),
                          without = lines_of(folder / "without/metrics.jsonl"),
                          resumed = lines_of(folder / "resumed/metrics.jsonl");
  REQUIRE(with.size() == 6);
  REQUIRE(resumed.size() == 6);
  for (std::size_t n = 0; n < 6; ++n) {
    CHECK(with[n].contains("train_alpha_layer_head_k") == (n % 2 == 1));
    CHECK(!without[n].contains("train_alpha_layer_head_k"));
    CHECK(with[n]["train_loss"] == without[n]["train_loss"]);
    if (n % 2 == 0) continue;
    const Json& alpha = with[n]["train_alpha_layer_head_k"];
    CHECK(alpha.size() == 2);
    CHECK(alpha[1].size() == 2);
    CHECK(alpha[1][1].size() == 24);
    CHECK(resumed[n]["train_alpha_layer_head_k"] == alpha);
  }
  CHECK(with[1]["train_alpha_layer_head_k"] != with[3]["train_alpha_layer_head_k"]);
  const Checkpoint a = load_checkpoint(folder / "with/checkpoint.h5"),
                   b = load_checkpoint(folder / "without/checkpoint.h5");
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t n = 0; n < a.tensors.size(); ++n) {
    const Tensor &x = a.tensors[n].second, &y = b.tensors[n].second;
    CHECK(std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.size() * size_of(x.dtype()))) == 0);
  }
}

TEST_CASE("key alpha: a model whose line would be too long is refused before it trains") {
  RunConfig config = small();
  config.run = "runs/none";
  config.key_alpha_every = 1;
  config.context = 65536;
  config.layers = 16;
  CHECK_THROWS_WITH_AS(require_consistent(config, ablation_named("baseline")),
                       doctest::Contains("2097152 values, in one line of metrics.jsonl, expected at most 1048576"),
                       Error);
  config.layers = 8;
  CHECK_NOTHROW(require_consistent(config, ablation_named("baseline")));
}
