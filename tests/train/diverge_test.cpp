// NaN or infinite losses: the step is skipped, and k skipped steps in a row end the run.
#include <doctest/doctest.h>

#include <limits>

#include "engine/io/checkpoint.h"
#include "model/all_ablations.h"
#include "tests/support/has_mpi.h"
#include "tests/support/subprocess.h"
#include "train/training_run.h"

using namespace sink;

namespace {

std::vector<std::string> one_and_two_ranks() {
  return has_mpi() ? std::vector<std::string>{"", " --nproc 2"} : std::vector<std::string>{""};
}

}  // namespace

TEST_CASE("NaN guard: a step whose loss is NaN changes no weight and no moment, and leaves no gradient") {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 2;
  config.width = 16;
  config.feed_forward = 32;
  config.batch = 2;
  TrainingRun run(config, ablation_named("pos_learnable"));
  REQUIRE_FALSE(run.step().skipped);

  const ParameterArena& parameters = run.model().parameters();
  Parameter& gain = **std::find_if(parameters.begin(), parameters.end(),
                                   [](const auto& p) { return p->name() == "final_norm.gain"; });
  float kept = gain.master().data<float>()[0];
  gain.mutable_master().data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  Tensor before = parameters.masters().clone();
  std::vector<Tensor> kept_state;
  for (const OptimizerState& state : run.optimizer().state()) kept_state.push_back(state.values.clone());

  CHECK(run.step().skipped);
  for (const auto& parameter : parameters) CHECK_FALSE(parameter->var().grad().defined());
  for (std::int64_t i = 0; i < before.size(); ++i) {
    if (i != gain.segment().begin) REQUIRE(parameters.masters().item(i) == before.item(i));
  }
  std::vector<OptimizerState> state = run.optimizer().state();
  for (std::size_t n = 0; n < state.size(); ++n)
    for (std::int64_t i = 0; i < kept_state[n].size(); ++i) REQUIRE(state[n].values.item(i) == kept_state[n].item(i));

  gain.mutable_master().data<float>()[0] = kept;
  CHECK_FALSE(run.step().skipped);
  CHECK(run.state().step == 3);
  CHECK(run.state().updates == 2);
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

TEST_CASE("divergence: the same command again ends the same way, and with more patience the run continues") {
  for (const std::string& ranks : one_and_two_ranks()) {
    TemporaryFolder folder;
    const std::string line =
        "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 32 --batch 4 "
        "--accumulate 2 --warmup 0 --clip 0 --learning-rate 100 --weight-decay 1000 --run " +
        folder / "run" + ranks;
    const std::string again = " --resume auto";
    const auto code = [&](const std::string& more) {
      Subprocess run(folder, words_of(line + more));
      return run.wait();
    };
    REQUIRE(code(" --steps 100 --nan-patience 3") == 5);
    const std::string log = read_bytes(folder / "run/metrics.jsonl");
    const std::int64_t step = load_checkpoint(folder / "run/checkpoint.h5").integer("step");
    REQUIRE(step < 100);
    CHECK(code(" --steps 100 --nan-patience 3" + again) == 5);
    CHECK(read_bytes(folder / "run/metrics.jsonl") == log);
    CHECK(code(" --steps 100 --nan-patience 5" + again) == 5);
    CHECK(load_checkpoint(folder / "run/checkpoint.h5").integer("step") == step + 2);

    // In its last step, too.
    const std::string last = " --nan-patience 3 --steps " + std::to_string(step);
    REQUIRE(code(last + " --force") == 5);
    CHECK(code(last + again) == 5);
    CHECK_FALSE(std::filesystem::exists(folder / "run/evaluation.json"));
  }
}

// The steps without a finite loss are too few to stop the run, so its evaluation is of weights that compute no value.
TEST_CASE(
    "divergence: a run whose last validation loss is not finite ends with exit code 5 and without an evaluation") {
  TemporaryFolder folder;
  const std::string line =
      "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 32 --batch 4 "
      "--accumulate 2 --steps 20 --warmup 0 --clip 0 --learning-rate 100 --weight-decay 1000 --nan-patience 100 "
      "--run " +
      folder / "run";
  for (const std::string& ranks : one_and_two_ranks()) {
    Subprocess run(folder, words_of(line + ranks + " --force"));
    CHECK_MESSAGE(run.wait() == 5, run.err());
    CHECK_MESSAGE(run.err().find("after step 20 the validation loss is not finite") != std::string::npos, run.err());
    CHECK_FALSE(std::filesystem::exists(folder / "run/evaluation.json"));
  }
}
