// Runs that meet: two programs in one folder, and a run that replaces another, killed at any moment.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/rng.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

std::vector<std::string> train(const std::string& run, const std::string& more) {
  return words_of(
      "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 2 --warmup "
      "0 --eval-sequences 2 --threads 1 --run " +
      run + " " + more);
}

void wait_for(const std::string& path) {
  for (int i = 0; i < 400 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
}

constexpr const char* kEndless = "--steps 1000000 --eval-every 1000000 --checkpoint-every 1000000";

}  // namespace

TEST_CASE("two runs: the second of one folder leaves at once and says who holds it; a killed holder holds nothing") {
  TemporaryFolder folder, other;
  std::string run = folder / "run";
  Subprocess first(folder, train(run, kEndless));
  wait_for(run + "/metrics.jsonl");
  for (const char* how : {"--steps 3", "--steps 3 --force", "--steps 3 --resume auto"}) {
    Subprocess second(other, train(run, how));
    CHECK(second.wait() == 2);
    CHECK_MESSAGE(contains(second.err(), run + " is in use by process "), second.err());
    CHECK(contains(second.err(), "(train_pos_learnable) on "));
    CHECK(std::filesystem::exists(run + "/config.toml"));
  }
  first.send(SIGKILL);
  first.wait();
  Subprocess third(other, train(run, "--steps 3 --force"));
  CHECK_MESSAGE(third.wait() == 0, third.err());
  CHECK_FALSE(contains(third.err(), "lock"));
  std::string metrics = read_bytes(run + "/metrics.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 3);
}

TEST_CASE("two runs: of two that begin together one trains, whole, and the other leaves with 2") {
  for (int round = 0; round < 5; ++round) {
    TemporaryFolder folder, other;
    std::string run = folder / "run";
    Subprocess first(folder, train(run, "--steps 200")), second(other, train(run, "--steps 200"));
    int codes[] = {first.wait(), second.wait()};
    CHECK(std::min(codes[0], codes[1]) == 0);
    CHECK(std::max(codes[0], codes[1]) == 2);
    std::string metrics = read_bytes(run + "/metrics.jsonl");
    CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 200);
  }
}

TEST_CASE("two runs: a sweep holds the folder of its tables; a second one, and other programs, are refused") {
  TemporaryFolder folder, other;
  const std::string sweep = "sweep " SINK_SOURCE_DIR
                            "/train/studies/bigram_backcopy.toml --only baseline --seeds 0 --threads 1 --workers 1 "
                            "--out " +
                            folder / "out";
  Subprocess first(folder, words_of(sweep));
  wait_for(folder / "out/baseline-0/metrics.jsonl");
  write_bytes(other / "t.txt", std::string(1000, 'a') + "\n");
  for (const std::string& command :
       {sweep, sweep + " --force", "prepare --text " + other / "t.txt" + " --out " + folder / "out"}) {
    CAPTURE(command);
    Subprocess second(other, words_of(command));
    CHECK(second.wait() == 2);
    CHECK_MESSAGE(contains(second.err(), folder / "out is in use by process "), second.err());
    CHECK(contains(second.err(), "(sweep) on "));
  }
  first.send(SIGTERM);
  CHECK(first.wait() == 128 + SIGTERM);
}

TEST_CASE("force: a run may start from the checkpoint it replaces, and a start that fails replaces nothing") {
  TemporaryFolder folder;
  std::string run = folder / "run", checkpoint = run + "/checkpoint.h5";
  REQUIRE(Subprocess(folder, train(run, "--steps 4")).wait() == 0);
  const char* names[] = {"/config.toml", "/metrics.jsonl", "/checkpoint.h5", "/evaluation.json"};
  std::vector<std::string> before;
  for (const char* name : names) before.push_back(read_bytes(run + name));

  for (const char* wrong : {"--initial none.h5", "--layers 2 --initial ", "--data none --task text"}) {
    std::string more = wrong + std::string(std::string(wrong).ends_with(" ") ? checkpoint : "");
    CHECK(Subprocess(folder, train(run, "--steps 4 --force " + more)).wait() > 0);
    for (int i = 0; i < 4; ++i) CHECK(read_bytes(run + names[i]) == before[static_cast<std::size_t>(i)]);
    CHECK(entries(run) == 4);
  }

  Subprocess again(folder, train(run, "--steps 2 --learning-rate 0 --weight-decay 0 --force --initial " + checkpoint));
  REQUIRE_MESSAGE(again.wait() == 0, again.err());
  CHECK(entries(run) == 5);  // evaluation-before.json, too
  // Nothing was learned, so the loss is the older run's last.
  auto loss = [](const std::string& json) { return nlohmann::json::parse(json)["val_loss"].get<double>(); };
  CHECK(loss(read_bytes(run + "/evaluation.json")) == loss(before[3]));
  CHECK(loss(read_bytes(run + "/evaluation-before.json")) == loss(before[3]));
}

TEST_CASE("force: killed at any moment, the older run is whole in its place or aside until the new one is saved") {
  TemporaryFolder folder;
  std::string older = folder / "older";
  REQUIRE(Subprocess(folder, train(older, "--steps 4")).wait() == 0);
  auto start = std::chrono::steady_clock::now();
  REQUIRE(Subprocess(folder, train(folder / "timed", "--steps 100 --checkpoint-every 50")).wait() == 0);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Rng moments(2, "kill");
  for (std::uint64_t trial = 0; trial < (test::is_short() ? 4 : 12); ++trial) {
    CAPTURE(trial);
    std::string run = folder / ("run" + std::to_string(trial));
    std::filesystem::copy(older, run);
    Subprocess forced(folder, train(run, "--seed 1 --steps 100 --checkpoint-every 50 --force"));
    std::this_thread::sleep_for(std::chrono::duration<double>(moments.uniform(trial) * seconds));
    forced.send(SIGKILL);
    forced.wait();
    bool in_place = read_bytes(run + "/checkpoint.h5") == read_bytes(older + "/checkpoint.h5");
    bool aside = read_bytes(run + "/.replaced/checkpoint.h5") == read_bytes(older + "/checkpoint.h5");
    bool saved = !in_place && std::filesystem::exists(run + "/checkpoint.h5");
    CHECK((in_place || aside || saved));
    Subprocess next(folder, train(run, "--seed 1 --steps 100 --checkpoint-every 50 " +
                                           std::string(in_place ? "--force" : "--resume auto")));
    CHECK_MESSAGE(next.wait() == 0, next.err());
    CHECK(contains(next.err(), "/.replaced") == !saved);
    CHECK(read_bytes(run + "/checkpoint.h5") == [&] {
      std::string expected = folder / "expected";
      if (!std::filesystem::exists(expected))
        REQUIRE(Subprocess(folder, train(expected, "--seed 1 --steps 100 --checkpoint-every 50")).wait() == 0);
      return read_bytes(expected + "/checkpoint.h5");
    }());
    CHECK(entries(run) == 4);
  }
}
