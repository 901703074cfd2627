// What happens when numbers stop being numbers: the step is skipped, and k skipped steps in a row end the run.
#include <doctest/doctest.h>

#include <limits>

#include "engine/data/bigram_backcopy.h"
#include "engine/rng.h"
#include "model/all_ablations.h"
#include "tests/support/subprocess.h"
#include "train/train_step.h"

using namespace sink;

TEST_CASE("NaN guard: a step whose loss is NaN changes no weight and no moment, and leaves no gradient") {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.batch = 2;
  auto data = make_data_source(config);
  Sizes sizes{.layers = 1, .heads = 2, .width = 16, .feed_forward = 32, .context = 64, .vocabulary = 64};
  auto made = ablation_named("pos_learnable").make_model(sizes, InitScheme::torch, 0, DType::F32);
  LanguageModel& model = *made;
  Optimizer optimizer(model.parameters(), config);
  REQUIRE_FALSE(train_step(model, optimizer, *data, config, 1, 1).skipped);

  Parameter& gain = **std::find_if(model.parameters().begin(), model.parameters().end(),
                                   [](const auto& p) { return p->name() == "final_norm.gain"; });
  float kept = gain.master().data<float>()[0];
  gain.mutable_master().data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  std::vector<Tensor> before;
  for (const auto& parameter : model.parameters()) before.push_back(parameter->master().clone());
  Tensor moment = optimizer.first_moment().clone();

  CHECK(train_step(model, optimizer, *data, config, 2, 2).skipped);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Parameter& parameter = *model.parameters()[i];
    CHECK_FALSE(parameter.var().grad().defined());
    for (std::int64_t j = 0; j < before[i].size(); ++j)
      if (!(&parameter == &gain && j == 0)) REQUIRE(parameter.master().item(j) == before[i].item(j));
  }
  for (std::int64_t j = 0; j < moment.size(); ++j) REQUIRE(optimizer.first_moment().item(j) == moment.item(j));

  gain.mutable_master().data<float>()[0] = kept;
  CHECK_FALSE(train_step(model, optimizer, *data, config, 3, 2).skipped);
}

TEST_CASE("divergence: the run stops with exit code 5, says so, and its last finite weights are saved") {
  // Each step multiplies the weights by 1 - 100 * 1000, so they overflow within ten.
  TemporaryFolder folder;
  Subprocess run(folder, words_of("train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 "
                                  "--feed-forward 32 --batch 4 --steps 100 --warmup 0 --clip 0 --learning-rate 100 "
                                  "--weight-decay 1000 --nan-patience 3 --run " +
                                  folder / "run"));
  CHECK(run.wait() == 5);
  CHECK(run.err().find("3 steps in a row") != std::string::npos);
  CHECK(read_bytes(folder / "run/metrics.jsonl").find("\"skipped\"") != std::string::npos);
}
