// A training step in steady state asks the system for no memory.
#include <doctest/doctest.h>

#include "engine/storage.h"
#include "model/all_ablations.h"
#include "tests/support/in_turn.h"
#include "train/training_run.h"

using namespace sink;

TEST_CASE("allocator: no system allocation after the first steps, in any ablation") {
  for (const Ablation& ablation : all_ablations())
    for (DType type : {DType::F32, DType::BF16}) {
      if (!test::in_turn()) continue;
      CAPTURE(ablation.name);
      RunConfig config;
      config.task = "bigram-backcopy";
      config.batch = 8;
      config.accumulate = 2;
      config.layers = 2;
      config.heads = 1;
      config.width = config.feed_forward = 64;
      config.precision = name_of(type);
      TrainingRun run(config, ablation);
      auto take = [&](int count) {
        for (int i = 0; i < count; ++i) run.step();
      };
      take(3);
      AllocatorStats before = allocator_stats();
      take(5);
      AllocatorStats after = allocator_stats();
      CHECK(after.system_allocations == before.system_allocations);
      CHECK(after.bytes_in_use == before.bytes_in_use);
    }
}
