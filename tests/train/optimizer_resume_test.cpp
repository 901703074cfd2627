// A run with any optimizer resumes exactly. A checkpoint of another optimizer is refused by --resume but accepted by
// --initial. A checkpoint of an older program, which names no optimizer, is AdamW's.
#include <doctest/doctest.h>

#include <regex>

#include "engine/io/checkpoint.h"
#include "model/all_ablations.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "train/initial_model.h"
#include "train/optimizers/optimizers.h"
#include "train/resume.h"

using namespace sink;

namespace {

RunConfig small_config(const std::string& optimizer) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 2;
  config.width = 16;
  config.feed_forward = 24;
  config.context = 12;
  config.batch = 2;
  config.warmup = 0;
  config.optimizer = optimizer;
  config.decay = "matrices";
  config.schedule_counts = "micro-batches";
  return config;
}

std::unique_ptr<TrainingRun> made(const RunConfig& config) {
  return std::make_unique<TrainingRun>(config, ablation_named("baseline"));
}

void train(TrainingRun& run, int steps) {
  for (int step = 0; step < steps; ++step) run.step();
}

}  // namespace

TEST_CASE("resume: of every optimiser, four steps saved and four more are eight steps, to the byte") {
  TemporaryFolder folder;
  for (const OptimizerKind& kind : optimizer_kinds())
    for (std::string precision : {"f32", "bf16"})
      for (std::string device : {"cpu", "cuda"}) {
#ifndef SINK_CUDA
        if (device == "cuda") continue;
#endif
        if (device == "cuda" && precision == "f32") continue;  // bf16 has a copy of the weights more
        CAPTURE(kind.name);
        CAPTURE(device);
        RunConfig config = small_config(kind.name);
        config.device = device;
        config.precision = precision;
        auto whole = made(config), first = made(config), second = made(config);
        train(*whole, 8);
        train(*first, 4);
        save_run(folder / "half.h5", *first);
        resume(folder / "half.h5", *second);
        train(*second, 4);
        save_run(folder / "whole.h5", *whole);
        save_run(folder / "second.h5", *second);
        CHECK(read_bytes(folder / "whole.h5") == read_bytes(folder / "second.h5"));
      }
}

TEST_CASE("resume: a checkpoint of another optimiser is refused, and --initial begins a run from its weights") {
  TemporaryFolder folder;
  auto muon = made(small_config("muon"));
  train(*muon, 2);
  save_run(folder / "muon.h5", *muon);
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name == "muon") continue;
    RunConfig config = small_config(kind.name);
    auto run = made(config);
    check_refused([&] { resume(folder / "muon.h5", *run); },
                  {"optimizer = \"muon\"", "this run has optimizer = \"" + kind.name + "\"", "--initial"}, Exit::usage);
    config.initial = folder / "muon.h5";
    auto again = made(config);
    load_initial(config, ablation_named("baseline"), nullptr, again->model());
    for (const auto& p : again->model().parameters())
      for (const auto& q : muon->model().parameters())
        if (p->name() == q->name())
          for (std::int64_t i = 0; i < p->master().size(); ++i) REQUIRE(p->master().item(i) == q->master().item(i));
    CHECK_FALSE(again->step().skipped);
  }
}

TEST_CASE("resume: a checkpoint and a configuration without a word of an optimiser are AdamW's") {
  TemporaryFolder folder;
  RunConfig config = small_config("adamw");
  config.decay = "all";
  config.schedule_counts = "steps";
  auto run = made(config), again = made(config);
  train(*run, 3);
  save_run(folder / "new.h5", *run);
  Checkpoint checkpoint = load_checkpoint(folder / "new.h5");
  std::string& toml = checkpoint.attributes["config_toml"];
  for (std::string key : {"optimizer", "momentum", "decay", "schedule-counts", "prefix-validation"}) {
    std::string shorter = std::regex_replace(toml, std::regex("\n" + key + " = [^\n]*"), "");
    CHECK(shorter.size() < toml.size());
    toml = shorter;
  }
  save_checkpoint(folder / "old.h5", checkpoint);
  resume(folder / "old.h5", *again);
  train(*run, 2);
  train(*again, 2);
  for (std::int64_t i = 0; i < run->model().parameters().masters().size(); ++i)
    REQUIRE(run->model().parameters().masters().item(i) == again->model().parameters().masters().item(i));
  RunConfig muon = small_config("muon");
  muon.decay = "all";
  muon.schedule_counts = "steps";
  auto other = made(muon);
  check_refused([&] { resume(folder / "old.h5", *other); }, {"optimizer = \"adamw\"", "optimizer = \"muon\""},
                Exit::usage);
}
