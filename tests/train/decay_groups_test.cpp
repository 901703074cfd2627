// --decay GROUP: one step changes the elements of the group as with --decay all and the others as without decay, to the
// bit. What the groups contain is checked by their count of elements.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "model/all_ablations.h"
#include "train/optimizer.h"
#include "train/optimizers/optimizers.h"
#include "train/training_run.h"

using namespace sink;

namespace {

// 2 blocks, width 8, 4 query heads and 2 key heads of width 2, feed-forward 12, a vocabulary of 64.
RunConfig small_config(const std::string& optimizer, const std::string& decay, double weight_decay) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 2;
  config.width = 8;
  config.heads = 4;
  config.kv_heads = 2;
  config.feed_forward = 12;
  config.context = 12;
  config.batch = 2;
  config.warmup = 0;
  config.optimizer = optimizer;
  config.decay = decay;
  config.weight_decay = weight_decay;
  config.learning_rate = 0.1;
  return config;
}

struct Values {
  std::vector<ParameterInfo> parameters;
  std::vector<std::vector<float>> values;
};

Values after_one_step(const RunConfig& config) {
  TrainingRun run(config, ablation_named("baseline"));
  run.step();
  Values all;
  for (const auto& parameter : run.model().parameters()) {
    all.parameters.push_back(parameter->info());
    const float* x = parameter->master().data<float>();
    all.values.emplace_back(x, x + parameter->master().size());
  }
  return all;
}

}  // namespace

TEST_CASE("decay groups: one step decays the elements of the group and no others") {
  constexpr std::int64_t C = 8, D = 2, H = 4, G = 2, F = 12, V = 64, L = 2;
  const std::pair<const char*, std::int64_t> groups[] = {{"qk", L * (H + G) * D * C},
                                                         {"vo", L * (G * D * C + C * H * D)},
                                                         {"ffn", L * 3 * F * C},
                                                         {"embeddings", 2 * V * C},
                                                         {"gains", (2 * L + 1) * C}};
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (!kind.element_wise) continue;
    CAPTURE(kind.name);
    const Values all = after_one_step(small_config(kind.name, "all", 0.5)),
                 none = after_one_step(small_config(kind.name, "all", 0));
    std::int64_t total = 0, decayed_at_all = 0;
    for (const auto& [group, size] : groups) {
      CAPTURE(group);
      const RunConfig config = small_config(kind.name, group, 0.5);
      const Values some = after_one_step(config);
      std::int64_t count = 0;
      bool same = true;
      for (std::size_t n = 0; n < some.values.size(); ++n) {
        const Segment part = decayed_part(some.parameters[n], group, config);
        count += part.size();
        for (std::size_t i = 0; i < some.values[n].size(); ++i) {
          const bool decays = static_cast<std::int64_t>(i) >= part.begin && static_cast<std::int64_t>(i) < part.end;
          const float expected = (decays ? all : none).values[n][i];
          same &= std::memcmp(&some.values[n][i], &expected, sizeof expected) == 0;
          decayed_at_all += all.values[n][i] != none.values[n][i] && decays;
        }
      }
      CHECK(same);
      CHECK(count == size);
      total += count;
    }
    std::int64_t elements = 0;
    for (const auto& values : all.values) elements += static_cast<std::int64_t>(values.size());
    CHECK(total == elements);  // of softmax, every parameter is in one group
    CHECK(decayed_at_all > elements / 2);
  }
}

TEST_CASE("decay groups: an optimizer of whole matrices refuses a part of one") {
  for (const OptimizerKind& kind : optimizer_kinds())
    for (const char* decay : {"qk", "vo"}) {
      if (kind.element_wise) continue;
      RunConfig config = small_config(kind.name, decay, 0.5);
      config.run = "x";
      CHECK_THROWS_WITH(require_consistent(config, ablation_named("baseline")),
                        doctest::Contains("choose one of adamw, sgd, lion"));
    }
}
