// What a run says of an extra key or a sink token: its log, its folder and its evaluation agree.
#include "train/step_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "model/all_ablations.h"
#include "tests/support/distinct_evaluation.h"
#include "tests/support/subprocess.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

Json last_line(const std::string& metrics) {
  std::string text = read_bytes(metrics);
  std::size_t begin = text.rfind('\n', text.size() - 2);
  return Json::parse(text.substr(begin == std::string::npos ? 0 : begin + 1));
}

}  // namespace

TEST_CASE("step report: log and evaluation of a run say the same of an extra key, and config.toml names the ablation") {
  for (const std::string ablation : {"bias_k", "bias_sinktoken", "baseline"}) {
    CAPTURE(ablation);
    TemporaryFolder folder;
    Subprocess program(folder, words_of("train_" + ablation +
                                        " --task bigram-backcopy --layers 1 --heads 2 --width 16 --feed-forward 16 "
                                        "--context 16 --batch 2 --steps 2 --eval-sequences 3 --run " +
                                        (folder / "run")));
    REQUIRE_MESSAGE(program.wait() == 0, program.err());
    Json line = last_line(folder / "run/metrics.jsonl"),
         evaluation = Json::parse(read_bytes(folder / "run/evaluation.json"));
    for (const char* key : {"val_loss", "alpha_1", "alpha_star", "alpha_star_raw", "row_mass", "extra_key_mass"}) {
      CAPTURE(std::string(key));
      REQUIRE(line.contains(key) == evaluation.contains(key));
      if (line.contains(key)) CHECK(line[key] == evaluation[key]);
    }
    CHECK(line.contains("sink_star") == (ablation != "baseline"));
    CHECK(line.contains("extra_key_mass") == (ablation == "bias_k"));
    if (line.contains("sink_star")) {
      CHECK(line["sink_star"] == evaluation["sink_star"][1]);  // at 0.3
      CHECK(line["sink_star_raw"] == evaluation["sink_star_raw"][1]);
    }
    if (line.contains("extra_key_mass"))
      CHECK(line["row_mass"].get<double>() + line["extra_key_mass"].get<double>() == doctest::Approx(1));
    std::string config = read_bytes(folder / "run/config.toml");
    CHECK(config.find("\nablation = \"" + ablation + "\"\n") != std::string::npos);
    CHECK(config.find("\npolicies = \"position=Rotary ") != std::string::npos);
    CHECK((program.err().find("sink_* ") != std::string::npos) == (ablation != "baseline"));

    // Of another ablation's configuration nothing is made.
    Subprocess other(folder, words_of("train_pos_learnable --config " + (folder / "run/config.toml") + " --run " +
                                      (folder / "other")));
    CHECK(other.wait() == 2);
    CHECK(other.err().find("is the configuration of train_" + ablation) != std::string::npos);
  }
}

TEST_CASE("step report: a line of metrics.jsonl has the values of its step and of its evaluation") {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 2;
  config.width = config.feed_forward = config.context = 16;
  config.batch = 2;
  config.accumulate = 3;
  config.eval_sequences = 2;
  TrainingRun run(config, ablation_named("baseline"));
  TemporaryFolder folder;
  RunLog log(folder / "metrics.jsonl");
  Progress progress(100, 10, /*silent=*/true);
  StepReport report(log, progress);
  const Evaluation evaluation = test::distinct_evaluation();
  StepResult result{.step = 3, .loss = 6.01, .gradient_norm = 6.02, .learning_rate = 6.03, .seconds = 0.5};
  report.on_step(run, result, &evaluation);
  Json line = last_line(folder / "metrics.jsonl");
  CHECK(line["seconds"].get<double>() >= 0);
  CHECK(line["seconds"].get<double>() < 600);
  line.erase("seconds");
  // 2 sequences of 3 micro-batches of 16 tokens are 96 tokens a step.
  CHECK(line == Json::parse(R"({
    "step": 3, "tokens": 288, "tokens_per_second": 192, "train_loss": 6.01, "grad_norm": 6.02, "learning_rate": 6.03,
    "val_loss": 1.001, "sink_1": 14, "sink_1_raw": 114, "alpha_1": 10, "alpha_1_raw": 110, "alpha_1_max": 1.02,
    "sink_star": 53, "sink_star_raw": 153, "alpha_star": 51, "alpha_star_raw": 151, "extra_key_mass": 1.042,
    "row_mass": 1.041, "entropy": 1.043, "first_value_norm_ratio": 1.051, "value_share": 1.052, "massive_ratio": 4.04,
    "alpha_fixed": 1.031, "alpha_fixed_over_even": 1.032
  })"));

  result.step = 4;
  result.skipped = true;
  report.on_step(run, result, nullptr);
  line = last_line(folder / "metrics.jsonl");
  line.erase("seconds");
  CHECK(line == Json::parse(R"({
    "step": 4, "tokens": 384, "tokens_per_second": 192, "train_loss": 6.01, "grad_norm": 6.02, "learning_rate": 6.03,
    "skipped": true
  })"));
}
