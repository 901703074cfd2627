// A run that is stopped or killed at any moment and resumed ends with the same checkpoint, byte for byte, and the same
// metrics but for the clock.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "engine/rng.h"
#include "tests/support/has_mpi.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

// The seconds in which a busy machine does what an idle one does in `seconds`: longer by the processes that wait for
// each core, as the last minute's average says.
double patience(double seconds) {
  double processes = 0;
  if (getloadavg(&processes, 1) != 1) return seconds;
  return seconds * std::max(1.0, processes / std::max(1u, std::thread::hardware_concurrency()));
}

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

bool has_checkpoint(const std::string& run) { return std::filesystem::exists(run + "/checkpoint.h5"); }

void wait_for_checkpoint(const std::string& run) {
  for (int i = 0; i < 6000 && !has_checkpoint(run); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Training is deterministic, so a run that starts over ends with the same files as one that resumes.
void check_resumed(const Subprocess& program, const std::string& run, bool had_checkpoint) {
  CHECK_MESSAGE(contains(program.err(), "resuming from " + run + "/checkpoint.h5, step ") == had_checkpoint,
                program.err());
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
  int resumed = 0;
  for (std::uint64_t trial = 0; trial < (test::is_short() ? 3 : 10); ++trial) {
    std::string run = folder / ("killed" + std::to_string(trial));
    Subprocess first(folder, command(run, {"--resume", "auto"}));
    if (trial < 3) wait_for_checkpoint(run);  // so that some trials resume, however fast the machine is
    std::this_thread::sleep_for(std::chrono::duration<double>(moments.uniform(trial) * seconds));
    first.send(SIGKILL);
    const int code = first.wait();
    CHECK_MESSAGE((code == 0 || code == 128 + SIGKILL), code, ": ", first.err());
    const bool saved = has_checkpoint(run);
    resumed += saved;
    Subprocess second(folder, command(run, {"--resume", "auto"}));
    REQUIRE_MESSAGE(second.wait() == 0, second.err());
    check_resumed(second, run, saved);
    Finished actual = files_of(run);
    CHECK_MESSAGE(actual.checkpoint == expected.checkpoint, "the checkpoint differs after kill ", trial);
    CHECK_MESSAGE(actual.metrics == expected.metrics, "the metrics differ after kill ", trial);
  }
  CHECK(resumed >= 3);
}

TEST_CASE("resume: SIGTERM, SIGINT and SIGHUP save and leave with 128 + signal, and the run goes on from there") {
  const auto of_steps = [](std::int64_t steps) {
    return " --eval-every 1000000 --checkpoint-every 1000000 --steps " + std::to_string(steps);
  };
  for (int signal : test::some_of({SIGTERM, SIGINT, SIGHUP})) {
    CAPTURE(signal);
    TemporaryFolder folder;
    const std::string run = folder / "run", whole = folder / "whole";
    Subprocess endless(folder, command(run, words_of(of_steps(1000000))));
    for (int i = 0; i < 400 && read_bytes(run + "/metrics.jsonl").size() < 500; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    endless.send(signal);
    CHECK_MESSAGE(endless.wait_for(60) == 128 + signal, endless.err());
    CHECK(endless.err().find("--resume auto") != std::string::npos);
    REQUIRE(std::filesystem::exists(run + "/checkpoint.h5"));

    // The undisturbed run comes later, because the step at which this one stops is not known beforehand.
    const std::string metrics = read_bytes(run + "/metrics.jsonl");
    const std::int64_t done = std::count(metrics.begin(), metrics.end(), '\n');
    Subprocess rest(folder, command(run, words_of("--resume auto" + of_steps(done + 20))));
    REQUIRE_MESSAGE(rest.wait() == 0, rest.err());
    CHECK_MESSAGE(contains(rest.err(), ", step " + std::to_string(done) + "\n"), rest.err());
    Subprocess undisturbed(folder, command(whole, words_of(of_steps(done + 20))));
    REQUIRE_MESSAGE(undisturbed.wait() == 0, undisturbed.err());
    CHECK((files_of(run).checkpoint == files_of(whole).checkpoint));
    CHECK(files_of(run).metrics == files_of(whole).metrics);
  }
}

TEST_CASE("resume: a signal in the middle of an evaluation ends the run within 5 seconds and costs nothing") {
  // An evaluation of minutes, which is interrupted, and a short one, with which the run resumes.
  const std::string few = " --steps 3 --eval-every 2 --checkpoint-every 1 --eval-sequences 4",
                    many = " --steps 3 --eval-every 2 --checkpoint-every 1 --eval-sequences 200000";
  for (const char* ranks : test::some_of({"", "--nproc 2 --accumulate 2 --zero 1", "--nproc 2 --accumulate 2"}, 2)) {
    CAPTURE(ranks);
    if (!std::string(ranks).empty() && !has_mpi()) continue;
    TemporaryFolder folder;
    const std::string whole = folder / "whole", run = folder / "run";
    Subprocess uninterrupted(folder, command(whole, words_of(ranks + few)));
    REQUIRE_MESSAGE(uninterrupted.wait() == 0, uninterrupted.err());

    Subprocess evaluating(folder, command(run, words_of(ranks + many)));
    for (int i = 0; i < 300 && !std::filesystem::exists(run + "/checkpoint.h5"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_MESSAGE(std::filesystem::exists(run + "/checkpoint.h5"), "step 1 was not saved before it was evaluated");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // well into the evaluation
    const auto start = std::chrono::steady_clock::now();
    evaluating.send(SIGTERM);
    CHECK_MESSAGE(evaluating.wait_for(60) == 128 + SIGTERM, evaluating.err());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK_MESSAGE(seconds < patience(5), "the run left ", seconds, " s after the signal");
    CHECK(read_bytes(run + "/metrics.jsonl").empty());  // a line comes with its evaluation

    Subprocess resumed(folder, command(run, words_of("--resume auto " + (ranks + few))));
    CHECK_MESSAGE(resumed.wait() == 0, resumed.err());
    CHECK_MESSAGE(!contains(resumed.err(), "no lines of steps"), resumed.err());
    CHECK((files_of(run).checkpoint == files_of(whole).checkpoint));
    CHECK(files_of(run).metrics == files_of(whole).metrics);
  }
}

TEST_CASE("resume: a signal in the middle of a long step of one micro-batch ends the run within 5 seconds") {
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Subprocess training(folder, command(run, words_of("--steps 2 --layers 48 --heads 4 --width 256 --feed-forward 1024 "
                                                    "--context 256 --batch 32 --recompute")));
  for (int i = 0; i < 300 && !std::filesystem::exists(run + "/config.toml"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // well into the first step
  const auto start = std::chrono::steady_clock::now();
  training.send(SIGTERM);
  CHECK_MESSAGE(training.wait_for(120) == 128 + SIGTERM, training.err());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK_MESSAGE(seconds < patience(5), "the run left ", seconds, " s after the signal");
}

TEST_CASE("resume: stopped or killed at random moments of a run that evaluates most of the time, it loses no line") {
  for (const std::string ranks : {"", "--nproc 2 --accumulate 2 --zero 1"}) {
    CAPTURE(ranks);
    if (!std::string(ranks).empty() && !has_mpi()) continue;
    TemporaryFolder folder;
    const std::string sequences = test::is_short() ? "500 " : "2000 ";
    const std::vector<std::string> more =
        words_of("--resume auto --steps 9 --eval-every 2 --checkpoint-every 3 --threads 1 --eval-sequences " +
                 sequences + ranks);
    Subprocess whole(folder, command(folder / "whole", more));
    auto start = std::chrono::steady_clock::now();
    REQUIRE_MESSAGE(whole.wait() == 0, whole.err());
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Finished expected = files_of(folder / "whole");
    Rng moments(3, "kill");
    int resumed = 0;
    for (std::uint64_t trial = 0; trial < (test::is_short() ? 2 : 4); ++trial) {
      std::string run = folder / ("stopped" + std::to_string(trial));
      for (std::uint64_t stop = 0; stop < 2; ++stop) {
        Subprocess first(folder, command(run, more));
        if (trial < 2 && stop == 1) wait_for_checkpoint(run);  // so that some trials resume
        std::this_thread::sleep_for(
            std::chrono::duration<double>((0.1 + 0.5 * moments.uniform(2 * trial + stop)) * seconds));
        // Ranks whose starter is killed save and leave on their own, a moment later.
        const int signal = trial % 2 == 0 || !ranks.empty() ? SIGTERM : SIGKILL;
        first.send(signal);
        const int code = first.wait_for(60);  // 137 if it hangs
        CHECK_MESSAGE((code == 0 || code == 128 + signal), code, " after signal ", signal, ": ", first.err());
      }
      const bool saved = has_checkpoint(run);
      resumed += saved;
      Subprocess last(folder, command(run, more));
      REQUIRE_MESSAGE(last.wait() == 0, last.err());
      check_resumed(last, run, saved);
      CHECK_MESSAGE(!contains(last.err(), "no lines of steps"), last.err());
      CHECK_MESSAGE((files_of(run).checkpoint == expected.checkpoint), "the checkpoint differs after stop ", trial);
      CHECK_MESSAGE(files_of(run).metrics == expected.metrics, "the metrics differ after stop ", trial);
      auto measured = [](const std::string& folder) {
        auto json = nlohmann::json::parse(read_bytes(folder + "/evaluation.json"));
        for (const char* key : {"run", "date"}) json.erase(key);
        return json;
      };
      CHECK_MESSAGE((measured(run) == measured(folder / "whole")), "evaluation.json differs after stop ", trial);
    }
    CHECK(resumed >= 2);
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
  SUBCASE("another sum of gradients") {  // of one micro-batch there is one
    CHECK(Subprocess(folder, command(run, {"--resume", "auto", "--steps", "9", "--gradient-sum", "fast"})).wait() == 0);
    const std::string more = folder / "more";
    REQUIRE(Subprocess(folder, command(more, {"--steps", "2", "--accumulate", "3"})).wait() == 0);
    Subprocess other(
        folder, command(more, {"--resume", "auto", "--steps", "3", "--accumulate", "3", "--gradient-sum", "fast"}));
    CHECK(other.wait() == 2);
    CHECK(other.err().find("gradient-sum = ") != std::string::npos);
  }
  SUBCASE("a run that begins at its end in another folder has its checkpoint") {
    const std::string next = folder / "next";
    Subprocess end(folder, command(next, {"--resume", run + "/checkpoint.h5", "--steps", "8"}));
    REQUIRE_MESSAGE(end.wait() == 0, end.err());
    CHECK(read_bytes(next + "/checkpoint.h5") == read_bytes(run + "/checkpoint.h5"));
    CHECK(Subprocess(folder, command(next, {"--resume", "auto", "--steps", "9"})).wait() == 0);
  }
  SUBCASE("policy") {
    auto words = command(run, {"--resume", "auto"});
    words[0] = "train_pos_learnable_sigmoid";
    Subprocess other(folder, words);
    CHECK(other.wait() == 4);
    CHECK(other.err().find("train_pos_learnable") != std::string::npos);
  }
  SUBCASE("a longer run is the same run, a shorter one is not") {
    CHECK(Subprocess(folder, command(run, {"--resume", "auto", "--steps", "10"})).wait() == 0);
    Subprocess shorter(folder, command(run, {"--resume", "auto", "--steps", "9"}));
    CHECK(shorter.wait() == 2);
    CHECK(shorter.err().find("has done step 10, and --steps is 9") != std::string::npos);
  }
  SUBCASE("a schedule that ends at the last step has no other last step") {
    const std::string cosine = folder / "cosine";
    REQUIRE(Subprocess(folder, command(cosine, {"--steps", "8", "--schedule", "cosine", "--warmup", "2"})).wait() == 0);
    Subprocess longer(folder,
                      command(cosine, {"--resume", "auto", "--steps", "10", "--schedule", "cosine", "--warmup", "2"}));
    CHECK(longer.wait() == 2);
    CHECK(longer.err().find("its cosine schedule ends") != std::string::npos);
  }
}
