// A training step in steady state asks the system for no memory.
#include <doctest/doctest.h>

#include "engine/data/data_source.h"
#include "engine/storage.h"
#include "model/all_ablations.h"
#include "train/train_step.h"

using namespace sink;

TEST_CASE("allocator: no system allocation after the first steps, in any ablation") {
  for (const Ablation& ablation : all_ablations())
    for (DType type : {DType::F32, DType::BF16}) {
      CAPTURE(ablation.name);
      RunConfig config;
      config.task = "bigram-backcopy";
      config.batch = 8;
      config.accumulate = 2;
      auto data = make_data_source(config);
      Sizes sizes{.layers = 2, .heads = 1, .width = 64, .feed_forward = 64, .context = 64, .vocabulary = 64};
      auto model = ablation.make_model(sizes, InitScheme::torch, 0, type);
      Optimizer optimizer(model->parameters(), config);
      std::int64_t step = 0;
      auto take = [&](int count) {
        for (int i = 0; i < count; ++i, ++step) train_step(*model, optimizer, *data, config, step + 1, step + 1);
      };
      take(3);
      AllocatorStats before = allocator_stats();
      take(5);
      AllocatorStats after = allocator_stats();
      CHECK(after.system_allocations == before.system_allocations);
      CHECK(after.bytes_in_use == before.bytes_in_use);
    }
}
