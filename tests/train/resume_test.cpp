// A run that is killed at any moment and resumed ends with the same checkpoint, byte for byte, and the same metrics but
// for the clock.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "engine/rng.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

constexpr int kSteps = 120;

std::vector<std::string> command(const std::string& run, std::vector<std::string> more = {}) {
  std::vector<std::string> words = words_of(
      "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 32 --batch 4 "
      "--steps " +
      std::to_string(kSteps) + " --eval-every 20 --eval-sequences 4 --checkpoint-every 7 --run " + run);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The metrics without what the clock decides.
std::string timeless(const std::string& metrics) {
  std::istringstream lines(metrics);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::ordered_json::parse(line);
    json.erase("seconds");
    json.erase("tokens_per_second");
    result += json.dump() + "\n";
  }
  return result;
}

struct Finished {
  std::string checkpoint, metrics;
};

Finished files_of(const std::string& run) {
  return {read_bytes(run + "/checkpoint.h5"), timeless(read_bytes(run + "/metrics.jsonl"))};
}

}  // namespace

TEST_CASE("resume: killed at ten random moments, the run ends bit for bit as if it had not been") {
  TemporaryFolder folder;
  Subprocess whole(folder, command(folder / "whole"));
  auto start = std::chrono::steady_clock::now();
  REQUIRE_MESSAGE(whole.wait() == 0, whole.err());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Finished expected = files_of(folder / "whole");
  REQUIRE(expected.checkpoint.size() > 10000);

  Rng moments(1, "kill");
  for (std::uint64_t trial = 0; trial < 10; ++trial) {
    std::string run = folder / ("killed" + std::to_string(trial));
    Subprocess first(folder, command(run, {"--resume", "auto"}));
    std::this_thread::sleep_for(std::chrono::duration<double>(moments.uniform(trial) * seconds));
    first.send(SIGKILL);
    first.wait();
    Subprocess second(folder, command(run, {"--resume", "auto"}));
    REQUIRE_MESSAGE(second.wait() == 0, second.err());
    Finished actual = files_of(run);
    CHECK_MESSAGE(actual.checkpoint == expected.checkpoint, "the checkpoint differs after kill ", trial);
    CHECK_MESSAGE(actual.metrics == expected.metrics, "the metrics differ after kill ", trial);
  }
}

TEST_CASE("resume: SIGTERM, SIGINT and SIGHUP save and leave with 128 + signal, and the run goes on from there") {
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    TemporaryFolder folder;
    std::string run = folder / "run";
    Subprocess endless(folder,
                       command(run, words_of("--steps 1000000 --eval-every 1000000 --checkpoint-every 1000000")));
    for (int i = 0; i < 400 && read_bytes(run + "/metrics.jsonl").size() < 500; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    endless.send(signal);
    CHECK(endless.wait() == 128 + signal);
    CHECK(endless.err().find("--resume auto") != std::string::npos);
    CHECK(std::filesystem::exists(run + "/checkpoint.h5"));
  }
}

TEST_CASE("resume: another configuration or another policy is refused with one line") {
  TemporaryFolder folder;
  std::string run = folder / "run";
  REQUIRE(Subprocess(folder, command(run, {"--steps", "8"})).wait() == 0);
  SUBCASE("configuration") {
    Subprocess other(folder, command(run, {"--resume", "auto", "--learning-rate", "0.5"}));
    CHECK(other.wait() == 2);
    CHECK(other.err().find("learning-rate = 0.004") != std::string::npos);
  }
  SUBCASE("policy") {
    auto words = command(run, {"--resume", "auto"});
    words[0] = "train_pos_learnable_sigmoid";
    Subprocess other(folder, words);
    CHECK(other.wait() == 4);
    CHECK(other.err().find("train_pos_learnable") != std::string::npos);
  }
  SUBCASE("a longer run is the same run") {
    CHECK(Subprocess(folder, command(run, {"--resume", "auto", "--steps", "10"})).wait() == 0);
  }
}
