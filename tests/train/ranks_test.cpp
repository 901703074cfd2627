// A run is the same on any number of ranks, to the bit: for every ablation, every optimizer, with sharded or whole
// state, and after a resume with another number of ranks.
#include <doctest/doctest.h>

#include "tests/support/check_refused.h"
#include "tests/support/rank_runs.h"
#include "train/optimizers/optimizers.h"
#include "train/resume.h"

using namespace sink;

TEST_CASE("ranks: every ablation trains to the same bits on 1, 2 and 4, with its state sharded or whole") {
  TemporaryFolder folder;
  auto all = [](std::int64_t zero) {
    return [zero](Communicator& ranks) {
      BytesByName bits;
      for (const Ablation& ablation : all_ablations()) {
        RunConfig config = shared_config(ablation);
        config.zero = zero;
        TrainingRun run(config, ablation, ranks);
        bits[ablation.name] = bits_of_run(run, config.steps);
      }
      return packed(bits);
    };
  };
  const std::string one = bits_of_ranks(1, folder, all(0));
  CHECK(one.size() > 20);
  CHECK(bits_of_ranks(2, folder, all(0)) == one);
  CHECK(bits_of_ranks(4, folder, all(1)) == one);
}

TEST_CASE("ranks: every optimiser and precision, clipped or not, recomputed or not, summed by the reference") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto all = [&](std::int64_t zero) {
    return [&, zero](Communicator& ranks) {
      BytesByName bits;
      auto add = [&](const std::string& name, const std::function<void(RunConfig&)>& change, bool shards = true) {
        RunConfig config = shared_config(ablation);
        change(config);
        config.zero = shards ? zero : 0;
        TrainingRun run(config, ablation, ranks);
        bits[name] = bits_of_run(run, config.steps);
      };
      for (const OptimizerKind& kind : optimizer_kinds())
        add(
            kind.name, [&](RunConfig& c) { c.optimizer = kind.name; }, kind.element_wise);
      for (std::string precision : {"bf16", "f64"}) add(precision, [&](RunConfig& c) { c.precision = precision; });
      add("five blocks", [](RunConfig& c) { c.layers = 5; });
      add("five blocks, recomputed in bf16", [](RunConfig& c) {
        c.layers = 5;
        c.recompute = true;
        c.precision = "bf16";
      });
      add("one block", [](RunConfig& c) { c.layers = 1; });
      add("not clipped", [](RunConfig& c) { c.clip = 0; });
      add("recomputed", [](RunConfig& c) { c.recompute = true; });
      add("matrices decay", [](RunConfig& c) { c.decay = "matrices"; });
      add("targets of another number each", [](RunConfig& c) { c.prefix = 5; });
      return packed(bits);
    };
  };
  const std::string one = bits_of_ranks(1, folder, all(0));
  CHECK(bits_of_ranks(2, folder, all(1)) == one);
  CHECK(bits_of_ranks(4, folder, all(0)) == one);
}

TEST_CASE("ranks: micro-batches are summed in their order, which a sum rank by rank is not") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto summed = [&](const std::string& how, std::int64_t zero = 0) {
    return [&, how, zero](Communicator& ranks) {
      RunConfig config = shared_config(ablation);
      config.gradient_sum = how;
      config.zero = zero;
      TrainingRun run(config, ablation, ranks);
      return bits_of_run(run, config.steps);
    };
  };
  const std::string ordered = bits_of_ranks(1, folder, summed("ordered"));
  const std::string fast = bits_of_ranks(2, folder, summed("fast"));
  CHECK(bits_of_ranks(2, folder, summed("ordered")) == ordered);
  CHECK(fast != ordered);
  CHECK(bits_of_ranks(2, folder, summed("fast", 1)) == fast);
  // With one micro-batch a rank both are the same sum.
  CHECK(bits_of_ranks(4, folder, summed("fast")) == ordered);
}

TEST_CASE("ranks: a run continues from 1 to 4 to 2 ranks, its state sharded or whole, as if it had never stopped") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("baseline");
  auto config_with = [&](std::int64_t zero) {
    RunConfig config = shared_config(ablation);
    config.steps = 9;
    config.zero = zero;
    return config;
  };
  const std::string whole = bits_of_ranks(1, folder, [&](Communicator& ranks) {
    TrainingRun run(config_with(0), ablation, ranks);
    for (int step = 0; step < 6; ++step) run.step();
    return bits_of_run(run, 3);
  });
  auto part = [&](std::int64_t zero, const std::string& from, const std::string& to) {
    return [&, zero, from, to](Communicator& ranks) {
      TrainingRun run(config_with(zero), ablation, ranks);
      std::vector<OptimizerState> state;
      if (!from.empty() && ranks.is_writer()) state = resume(folder / from, run);
      scatter_state(run, state);
      if (to.empty()) return bits_of_run(run, 3);
      for (int step = 0; step < 3; ++step) run.step();
      save_run(folder / to, run);
      return std::string();
    };
  };
  bits_of_ranks(1, folder, part(0, "", "three.h5"));
  bits_of_ranks(4, folder, part(1, "three.h5", "six.h5"));
  CHECK(bits_of_ranks(2, folder, part(0, "six.h5", "")) == whole);
  CHECK(bits_of_ranks(2, folder, part(1, "six.h5", "")) == whole);
  bits_of_ranks(4, folder, part(0, "three.h5", "six-whole.h5"));
  CHECK(bits_of_ranks(2, folder, part(1, "six-whole.h5", "")) == whole);
}

TEST_CASE("ranks: as many as divide the micro-batches, and no sharded optimiser that looks at whole matrices") {
  RunConfig config = shared_config(ablation_named("baseline"));
  require_ranks_divide(config, 4);
  check_refused([&] { require_ranks_divide(config, 3); }, {"3 ranks", "4 micro-batches", "--accumulate 3"},
                Exit::usage);
  config.batch = 6, config.accumulate = 1;
  check_refused([&] { require_ranks_divide(config, 3); }, {"--accumulate 3 --batch 2"}, Exit::usage);
}
