// The sweep of ablations: that it goes on where it was, and what six ablations must do.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/subprocess.h"
#include "tools/sweep/sweep_job.h"
#include "tools/sweep/sweep_table.h"

using namespace sink;

namespace {

SweepResult result_of(const std::string& path) { return sweep_result_from_json(read_bytes(path), path); }

}  // namespace

TEST_CASE("sweep: a stopped sweep makes only what is missing, and nothing of other settings is mixed in") {
  TemporaryFolder folder;
  std::string command = "sweep --only baseline,op_sigmoid_none --seeds 0,1 --steps 3 --out " + folder / "out";
  {
    Subprocess first(folder, words_of(command));
    REQUIRE_MESSAGE(first.wait() == 0, first.err());
    CHECK(contains(first.err(), "4 jobs, 0 of them done before"));
    CHECK(first.out() == read_bytes(folder / "out/table.md"));
    CHECK(contains(first.out(), "| op_sigmoid_none |"));
    CHECK(contains(first.out(), "loss never left ln V"));
    std::string csv = read_bytes(folder / "out/results.csv");
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  }
  std::string lost = folder / "out/baseline-1.json", kept = read_bytes(lost);
  std::filesystem::remove(lost);
  {
    Subprocess again(folder, words_of(command));
    CHECK(again.wait() == 0);
    CHECK(contains(again.err(), "4 jobs, 3 of them done before"));
  }
  SweepResult before = sweep_result_from_json(kept, "kept"), after = result_of(lost);
  CHECK(before.loss == after.loss);  // the same job, bit for bit
  CHECK(before.alpha_1 == after.alpha_1);
  {
    Subprocess other(folder, words_of(command + " --set learning-rate=0.01"));
    CHECK(other.wait() == 2);
    CHECK(contains(other.err(), "other settings"));
  }
  write_bytes(lost, kept.substr(0, kept.size() / 2));
  Subprocess damaged(folder, words_of(command));
  CHECK(damaged.wait() == 3);
}

TEST_CASE("sweep: a mean is over different seeds of one program, or says what it is") {
  TemporaryFolder folder;
  Subprocess twice(folder, words_of("sweep --only baseline,bias_k_d64 --seeds 1,1 --steps 2 --out " + folder / "out"));
  REQUIRE_MESSAGE(twice.wait() == 0, twice.err());
  CHECK(contains(twice.err(), "2 jobs"));
  CHECK(contains(twice.out(), "\nbias_k_d64: 1 head.\n"));
  std::string csv = read_bytes(folder / "out/results.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);

  SweepResult a = result_of(folder / "out/baseline-1.json"), b = a;
  b.seed = 2;
  b.error = "=1+1";
  CHECK(contains(results_csv(std::vector<SweepResult>{b}), ",'=1+1\n"));
  b.error.clear();
  CHECK_FALSE(contains(sweep_table({a, b}, sweep_recipe(), {}), "mean over commits"));
  b.commit = "def456";
  CHECK(contains(sweep_table({a, b}, sweep_recipe(), {}),
                 "mean over commits " + std::min(a.commit, b.commit) + " " + std::max(a.commit, b.commit)));
}

TEST_CASE("sweep: unknown ablations and settings are refused before anything is trained") {
  TemporaryFolder folder;
  for (const char* wrong :
       {"--only bias_q", "--set learning=1", "--set learning-rate", "--set heads=3", "--workers 0"}) {
    CAPTURE(wrong);
    Subprocess run(folder, words_of(std::string("sweep --steps 1 ") + wrong + " --out " + folder / "out"));
    CHECK(run.wait() == 2);
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  }
}

TEST_CASE("sweep: what went wrong is told") {
  SweepResult good;
  good.loss = 2.2;
  good.curve = {{1, 2.3, 0, 0}};
  CHECK(what_went_wrong(good, 2.19) == "");
  CHECK(what_went_wrong(good, 1.9) == "loss +0.30 from the usual");
  SweepResult lost = good;
  lost.loss = lost.curve[0].loss = std::numeric_limits<double>::quiet_NaN();
  lost.skipped = 6;
  lost.first_skipped = 12;
  lost.given_up = true;
  lost.steps = 17;
  CHECK(what_went_wrong(lost, 2.2) == "6 steps not finite, first 12, given up at step 17, loss never left ln V (nan)");
  SweepResult read = sweep_result_from_json(to_json(lost), "test");
  CHECK(std::isnan(read.loss));
  CHECK(read.first_skipped == 12);
  CHECK(std::isnan(read.curve.at(0).loss));
}

// Slow without optimisation: release builds only.
#ifdef NDEBUG
TEST_CASE("sweep: softmax and normalised sigmoid sink, sigmoid and ReLU do not, a key of its own takes the sink") {
  TemporaryFolder folder;
  Subprocess run(folder,
                 words_of("sweep --only baseline,op_sigmoid_norm,op_sigmoid_none,op_relu,bias_k,bias_kv --seeds 0 "
                          "--out " +
                          folder / "out"));
  REQUIRE_MESSAGE(run.wait() == 0, run.err());
  MESSAGE(run.out());
  auto result = [&](const std::string& ablation) { return result_of(folder / ("out/" + ablation + "-0.json")); };
  for (const char* ablation : {"baseline", "op_sigmoid_norm", "op_sigmoid_none", "op_relu", "bias_k", "bias_kv"}) {
    CAPTURE(ablation);
    SweepResult r = result(ablation);
    CHECK(r.loss - r.best_loss < 0.05);  // the task is learned
    CHECK(r.skipped == 0);
  }
  for (const char* sinks : {"baseline", "op_sigmoid_norm"}) {
    CAPTURE(sinks);
    CHECK(result(sinks).alpha_1 > 0.5);
    CHECK(result(sinks).alpha_1_raw > 0.5);
    CHECK(result(sinks).sink_1 > 50);
    CHECK(result(sinks).first_value_norm_ratio < 0.5);
  }
  CHECK(result("op_sigmoid_none").alpha_1_raw < 0.1);
  CHECK(result("op_sigmoid_none").sink_1_raw < 10);
  CHECK(result("op_relu").alpha_1 < 0.1);
  CHECK(result("op_relu").sink_1 < 10);
  for (const char* has_key : {"bias_k", "bias_kv"}) {
    CAPTURE(has_key);
    CHECK(result(has_key).alpha_star > 0.5);
    CHECK(result(has_key).alpha_1 < 0.1);
  }
}
#endif
