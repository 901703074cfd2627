// On a GPU, wait() only queues a wait of the stream. If NCCL is aborted after that, a copy to the host still succeeds,
// with bytes that are not the collective's. None of them may be saved or reported.
#include <doctest/doctest.h>

#include "engine/comm/links.h"
#include "tests/support/files.h"
#include "tests/support/rank_runs.h"
#include "train/resume.h"

using namespace sink;

namespace {

// Rank 0 of two, whose collectives bring nothing. The one with number `aborted` fails after wait() has returned.
class AbortedRanks : public Communicator {
 public:
  AbortedRanks() : Communicator(0, 2) {}
  std::string name() const override { return "aborted"; }
  void reduce_scatter(const Tensor&, Tensor&, bool) override { begin(); }
  void all_gather(Tensor&) override { begin(); }
  void broadcast(Tensor&) override { begin(); }
  void wait() override {
    throw_if_failed();
    failed = collectives == aborted;
  }
  std::vector<std::string> exchange(const std::string& mine) override {
    throw_if_failed();
    return {mine, mine};
  }

  std::int64_t collectives = 0, aborted = -1;
  bool failed = false;

 private:
  void begin() {
    throw_if_failed();
    ++collectives;
  }
  void throw_if_failed() const {
    if (failed) throw RankLost("NCCL was aborted");
  }
};

struct ReportedSteps : TrainingObserver {
  std::vector<std::int64_t> steps, collectives;  // how many of them each had been, until it was reported
  void on_step(TrainingRun& run, const StepResult& result, const Evaluation*) override {
    steps.push_back(result.step);
    collectives.push_back(dynamic_cast<AbortedRanks&>(run.ranks()).collectives);
  }
};

RunConfig config_of_two(std::int64_t zero) {
  RunConfig config = shared_config(ablation_named("baseline"));
  config.zero = zero;
  config.eval_sequences = 4;  // as many batches on both ranks
  return config;
}

}  // namespace

TEST_CASE("aborted collective: a checkpoint is not replaced while its gathers fail, the last one included") {
  TemporaryFolder folder;
  AbortedRanks ranks;
  TrainingRun run(config_of_two(/*zero=*/1), ablation_named("baseline"), ranks);
  run.step();
  const std::string path = folder / "checkpoint.h5";
  const std::int64_t before = ranks.collectives;
  save_run(path, run);
  const std::int64_t gathers = ranks.collectives - before;
  CHECK(gathers == 2 * static_cast<std::int64_t>(run.model().parameters().buckets().size()));  // AdamW has two moments
  const std::string good = read_bytes(path);
  run.step();
  for (std::int64_t n = 1; n <= gathers; ++n) {
    CAPTURE(n);
    ranks.aborted = ranks.collectives + n;
    CHECK_THROWS_AS(save_run(path, run), RankLost);
    CHECK(read_bytes(path) == good);
    ranks.failed = false;
    ranks.aborted = ranks.collectives + gathers;
    CHECK_THROWS_AS(gather_optimizer_state(run), RankLost);
    ranks.failed = false;
  }
  ranks.aborted = -1;
  save_run(path, run);
  CHECK(read_bytes(path) != good);
}

TEST_CASE("aborted collective: weights that were gathered before a save are not saved if they fail during it") {
  TemporaryFolder folder;
  AbortedRanks ranks;
  TrainingRun run(config_of_two(/*zero=*/0), ablation_named("baseline"), ranks);
  run.step();
  const std::string path = folder / "checkpoint.h5";
  save_run(path, run);
  const std::string good = read_bytes(path);
  run.step();
  ranks.failed = true;
  CHECK_THROWS_AS(save_run(path, run), RankLost);
  CHECK(read_bytes(path) == good);
}

TEST_CASE("aborted collective: a step whose last collective failed is neither reported nor counted") {
  for (std::int64_t zero : {0, 1}) {
    CAPTURE(zero);
    AbortedRanks sound;
    ReportedSteps all;
    RunConfig config = config_of_two(zero);
    TrainingRun(config, ablation_named("baseline"), sound).train({&all});
    REQUIRE(all.steps == std::vector<std::int64_t>{1, 2, 3});

    AbortedRanks ranks;
    ranks.aborted = all.collectives[1];  // the last one of step 2
    ReportedSteps reported;
    TrainingRun run(config, ablation_named("baseline"), ranks);
    CHECK_THROWS_AS(run.train({&reported}), RankLost);
    CHECK(reported.steps == std::vector<std::int64_t>{1});
    CHECK(run.state().step == 1);
  }
}
