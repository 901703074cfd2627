// What is foretold of ranks is what they do: bytes of real runs, tensors that they keep, and the page that plans.
#include "train/distributed/rank_plan.h"

#include <doctest/doctest.h>

#include "engine/storage.h"
#include "tests/support/rank_runs.h"
#include "train/dry_run.h"

using namespace sink;

namespace {

RunConfig planned_config(std::int64_t zero, std::int64_t accumulate, const std::string& sum) {
  RunConfig config = shared_config(ablation_named("baseline"));
  config.layers = 5;
  config.width = 64;
  config.feed_forward = 128;
  config.accumulate = accumulate;
  config.gradient_sum = sum;
  config.zero = zero;
  return config;
}

RankPlan plan_of(const RunConfig& config, TrainingRun& run, int ranks) {
  return {.buckets = run.model().parameters().bucket_sizes(ranks),
          .ranks = ranks,
          .zero = config.zero,
          .micro_batches = config.accumulate,
          .ordered = config.gradient_sum == "ordered"};
}

}  // namespace

TEST_CASE("rank plan: bytes that are sent and tensors that are kept are those of runs") {
  TemporaryFolder folder;
  for (int size : {2, 4})
    for (std::int64_t zero : {0, 1})
      for (std::int64_t accumulate : {4, 8})
        for (std::string sum : {"ordered", "fast"}) {
          CAPTURE(size);
          CAPTURE(zero);
          CAPTURE(accumulate);
          CAPTURE(sum);
          const std::string said = bits_of_ranks(size, folder, [&](Communicator& ranks) {
            const RunConfig config = planned_config(zero, accumulate, sum);
            const auto before = static_cast<double>(allocator_stats().bytes_in_use);
            TrainingRun run(config, ablation_named("baseline"), ranks);
            const RankPlan plan = plan_of(config, run, ranks.size());
            run.step();
            const double first = run.strategy().traffic().bytes_sent;
            run.step();
            const double sent = run.strategy().traffic().bytes_sent - first;
            const double kept = static_cast<double>(allocator_stats().bytes_in_use) - before;
            // In addition losses and, with shards, partial squared norms are sent; batches and the sums are kept.
            const double norms = static_cast<double>(plan.elements()) / 4096 * 8;
            const bool bytes_hold = sent >= bytes_sent_of(plan) && sent <= bytes_sent_of(plan) + norms + 8 * 8 * 4;
            const bool memory_holds = std::abs(kept - memory_of(plan).total()) < 0.05 * memory_of(plan).total() + 40000;
            return (bytes_hold
                        ? ""
                        : "sent " + std::to_string(sent) + " instead of " + std::to_string(bytes_sent_of(plan))) +
                   (memory_holds
                        ? ""
                        : "; kept " + std::to_string(kept) + " instead of " + std::to_string(memory_of(plan).total()));
          });
          CHECK_MESSAGE(said.empty(), said);
        }
}

TEST_CASE("rank plan: by hand, two ranks of ten blocks") {
  RankPlan plan{.buckets = {1000, 100, 100, 100, 100, 400}, .ranks = 2, .zero = 0, .micro_batches = 2};
  CHECK(plan.elements() == 1800);
  CHECK(bytes_sent_of(plan) == 0.5 * 4 * 1800 * 2);
  CHECK(memory_of(plan).total() == 16 * 1800);
  plan.bf16 = true;
  plan.zero = 1;
  CHECK(memory_of(plan).total() == (4 + 2 + 4) * 1800 + 8 * 900);
  plan.micro_batches = 4;  // two rounds
  CHECK(memory_of(plan).sums == 4 * 900);
  CHECK(bytes_sent_of(plan) == 0.5 * 4 * 1800 * 3);
  plan.ordered = false;
  CHECK(bytes_sent_of(plan) == 0.5 * 4 * 1800 * 2);
  CHECK(memory_of(plan).sums == 0);
  plan.bytes = 8;
  CHECK(bytes_sent_of(plan) == 0.5 * 8 * 1800 * 2);
}

TEST_CASE("rank plan: time is computing, and what no computing hides") {
  RankPlan plan{.buckets = {1000, 8000, 1000}, .ranks = 2, .zero = 0, .micro_batches = 2};
  // 2000 tokens, 1000 each at 1000 a second; 40 kB a step, of which the embedding's 4 kB are last.
  CHECK(time_of(plan, 2000, 1000, 0).step() == 1);
  CHECK(time_of(plan, 2000, 1000, 40000).waiting == doctest::Approx(0.1 + (0.9 - 2.0 / 3)));
  CHECK(time_of(plan, 2000, 1000, 400000).waiting == doctest::Approx(0.01));
  plan.zero = 1;  // and the weights after the update
  CHECK(time_of(plan, 2000, 1000, 400000).waiting == doctest::Approx((2000 + 20000) / 400000.0));
  // Two rounds in order: the embedding's 2 kB after each, and the gather of all gradients, or of weights, at the end.
  plan.micro_batches = 4;
  for (std::int64_t zero : {0, 1}) {
    plan.zero = zero;
    CHECK(time_of(plan, 2000, 1000, 400000).waiting == doctest::Approx((2 * 2000 + 20000) / 400000.0));
  }
  plan.ordered = false;  // sent once
  plan.zero = 0;
  CHECK(time_of(plan, 2000, 1000, 400000).waiting == doctest::Approx(0.01));
  plan.ordered = true;
  plan.bytes = 8;
  CHECK(time_of(plan, 2000, 1000, 400000).waiting == doctest::Approx(2 * (2 * 2000 + 20000) / 400000.0));
  plan.ranks = 1;
  CHECK(time_of(plan, 2000, 1000, 400000).step() == 2);
}

TEST_CASE("rank plan: --dry-run plans for a cluster what no laptop has room for, and says what it does not know") {
  const Ablation& ablation = ablation_named("baseline");
  RunConfig config = shared_config(ablation);
  config.layers = 22, config.heads = 16, config.width = 2048, config.feed_forward = 5632, config.context = 2048;
  config.batch = 4, config.accumulate = 128, config.steps = 40000, config.precision = "bf16", config.zero = 1;
  std::string text = text_of_rank_plan(config, ablation, 50432, 64);
  CHECK(text.find("parameters       1337026560") != std::string::npos);
  CHECK(text.find("64, --zero 1, each 2 of the 128 micro-batches of a step (1048576 tokens)") != std::string::npos);
  CHECK(text.find("not known: --rate") != std::string::npos);
  config.rate = 50000, config.link = 50;
  text = text_of_rank_plan(config, ablation, 50432, 64);
  CHECK_MESSAGE(text.find("tokens a second, about ") != std::string::npos, text);
}

// tools/launch/PLAN.md has these lines verbatim; SINK_WRITE_PLAN=1 prints them.
TEST_CASE("rank plan: the page that plans 8 and 64 GPUs says what the programs say") {
  const std::string page = read_bytes(std::string(SINK_SOURCE_DIR) + "/tools/launch/PLAN.md");
  struct Case {
    const char* file;
    int ranks;
    std::int64_t zero, accumulate, batch;
    double rate, link;
  };
  for (const Case& c : {Case{"60m", 8, 0, 32, 16, 614000, 100},
                        {"60m", 64, 0, 64, 8, 614000, 25},
                        {"1b", 8, 0, 128, 4, 65000, 100},
                        {"1b", 8, 1, 128, 4, 65000, 100},
                        {"1b", 64, 1, 128, 4, 65000, 25}}) {
    const std::string path = std::string(SINK_SOURCE_DIR) + "/tools/launch/" + c.file + ".toml";
    RunConfig config = run_config_from_toml(read_bytes(path), path);
    config.zero = c.zero, config.rate = c.rate, config.link = c.link, config.accumulate = c.accumulate,
    config.batch = c.batch;
    const std::string text = text_of_rank_plan(config, ablation_named("baseline"), 50432, c.ranks);
    const std::string lines = text.substr(text.find("ranks   "));
    if (std::getenv("SINK_WRITE_PLAN")) std::printf("%s %d\n%s\n", c.file, c.ranks, lines.c_str());
    CHECK_MESSAGE(page.find(lines) != std::string::npos, c.file, " on ", c.ranks, " ranks:\n", lines);
  }
}
