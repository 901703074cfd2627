// Ranks that are lost, stopped or told to stop: the others leave in time, say who it was, and the run goes on from what
// is saved, with the bits of one that nothing happened to.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/rng.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

using TestClock = std::chrono::steady_clock;

std::string run_line(const std::string& run, const std::string& more) {
  return "train_pos_learnable --task bigram-backcopy --layers 2 --heads 2 --width 32 --feed-forward 48 --context 32 "
         "--batch 2 "
         "--accumulate 4 --warmup 0 --eval-sequences 4 --eval-every 1000 --checkpoint-every 20 --threads 1 --run " +
         run + " " + more;
}

double seconds_since(TestClock::time_point start) {
  return std::chrono::duration<double>(TestClock::now() - start).count();
}

void pause_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::int64_t steps_in(const std::string& run) {
  const std::string metrics = std::filesystem::exists(run + "/metrics.jsonl") ? read_bytes(run + "/metrics.jsonl") : "";
  return std::count(metrics.begin(), metrics.end(), '\n');
}

// N ranks as a launcher starts them, each a child of this test.
class Ranks {
 public:
  Ranks(int size, const std::string& line, int port) {
    for (int rank = 0; rank < size; ++rank) {
      folders_.push_back(std::make_unique<TemporaryFolder>());
      std::vector<std::string> words{"/usr/bin/env",
                                     "RANK=" + std::to_string(rank),
                                     "WORLD_SIZE=" + std::to_string(size),
                                     "LOCAL_RANK=" + std::to_string(rank),
                                     "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=" + std::to_string(port),
                                     "SINKLAB_TOKEN=of this test"};
      std::vector<std::string> program = words_of(line);
      program[0] = program_path(program[0]);
      words.insert(words.end(), program.begin(), program.end());
      ranks_.emplace_back(*folders_.back(), words);
    }
  }
  void send(int rank, int signal) { ranks_[static_cast<std::size_t>(rank)].send(signal); }
  int wait(int rank) { return ranks_[static_cast<std::size_t>(rank)].wait(); }
  std::string err(int rank) { return ranks_[static_cast<std::size_t>(rank)].err(); }

 private:
  std::vector<std::unique_ptr<TemporaryFolder>> folders_;
  std::vector<Subprocess> ranks_;
};

// Two tests of one machine do not meet.
int next_port() {
  static int port = 21000 + ::getpid() % 30000;
  return port++;
}

bool wait_for_steps(const std::string& run, std::int64_t steps) {
  for (auto start = TestClock::now(); seconds_since(start) < 20; pause_for(0.01))
    if (steps_in(run) >= steps) return true;
  return false;
}

constexpr const char* kLong = "--steps 1000000";
constexpr int kTotal = 120;

std::string undisturbed(const TemporaryFolder& folder) {
  const std::string run = folder / "undisturbed";
  TemporaryFolder other;
  Subprocess whole(other, words_of(run_line(run, "--steps " + std::to_string(kTotal))));
  CHECK_MESSAGE(whole.wait() == 0, whole.err());
  return read_bytes(run + "/checkpoint.h5");
}

void goes_on(const std::string& run, const std::string& how, const std::string& expected) {
  TemporaryFolder other;
  Subprocess rest(other, words_of(run_line(run, "--resume auto --steps " + std::to_string(kTotal) + " " + how)));
  CHECK_MESSAGE(rest.wait() == 0, rest.err());
  CHECK((read_bytes(run + "/checkpoint.h5") == expected));
}

}  // namespace

TEST_CASE("rank faults: one that is killed at any moment is named by the others, which leave; the run goes on") {
  TemporaryFolder folder;
  const std::string expected = undisturbed(folder);
  Rng random(11, "rank faults");
  for (int round = 0; round < 6; ++round) {
    const int victim = round % 3;
    CAPTURE(round);
    const std::string run = folder / ("killed-" + std::to_string(round)), zero = " --zero " + std::to_string(round % 2);
    Ranks ranks(2 + (victim == 2 ? 2 : 0), run_line(run, "--steps " + std::to_string(kTotal) + zero), next_port());
    const int size = victim == 2 ? 4 : 2;
    wait_for_steps(run, 21);  // there is a checkpoint
    pause_for(0.2 * random.uniform(static_cast<std::uint64_t>(round)));
    ranks.send(victim, SIGKILL);
    auto start = TestClock::now();
    bool was_over = ranks.wait(victim) == 0;
    for (int rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      const int code = ranks.wait(rank);
      if (was_over) continue;  // it had ended before the signal came
      CHECK_MESSAGE(code == 7, ranks.err(rank));
      CHECK_MESSAGE(contains(ranks.err(rank), "rank "), ranks.err(rank));
      CHECK_MESSAGE((contains(ranks.err(rank), " is lost") || contains(ranks.err(rank), " has left")), ranks.err(rank));
    }
    CHECK(seconds_since(start) < 5);
    goes_on(run, round % 2 ? "" : "--nproc 2", expected);
  }
}

TEST_CASE("rank faults: SIGTERM to any rank, or to who started them: all save at one step and leave with 143") {
  TemporaryFolder folder;
  const std::string expected = undisturbed(folder);
  for (int told : {0, 1}) {
    CAPTURE(told);
    const std::string run = folder / ("told-" + std::to_string(told));
    Ranks ranks(2, run_line(run, kLong), next_port());
    REQUIRE(wait_for_steps(run, 5));
    ranks.send(told, SIGTERM);
    for (int rank : {0, 1}) CHECK_MESSAGE(ranks.wait(rank) == 128 + SIGTERM, ranks.err(rank));
    CHECK(contains(ranks.err(0), "stopped by signal 15"));
    CHECK(std::filesystem::exists(run + "/checkpoint.h5"));
  }
  const std::string run = folder / "parent";
  TemporaryFolder other;
  Subprocess parent(other, words_of(run_line(run, "--steps " + std::to_string(kTotal) + " --nproc 4")));
  REQUIRE(wait_for_steps(run, 3));
  parent.send(SIGTERM);
  const int code = parent.wait();
  if (code != 0) CHECK_MESSAGE(code == 128 + SIGTERM, parent.err());
  goes_on(run, "--nproc 2 --zero 1", expected);
}

TEST_CASE("rank faults: SIGUSR1 to one rank has all of them save and go on") {
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(2, run_line(run, std::string(kLong) + " --zero 1 --checkpoint-every 1000000"), next_port());
  REQUIRE(wait_for_steps(run, 5));
  CHECK_FALSE(std::filesystem::exists(run + "/checkpoint.h5"));
  ranks.send(1, SIGUSR1);
  for (int n = 0; n < 200 && !std::filesystem::exists(run + "/checkpoint.h5"); ++n) pause_for(0.02);
  CHECK(std::filesystem::exists(run + "/checkpoint.h5"));
  const std::int64_t steps = steps_in(run);
  CHECK(wait_for_steps(run, steps + 5));
  ranks.send(0, SIGTERM);
  for (int rank : {0, 1}) CHECK(ranks.wait(rank) == 128 + SIGTERM);
}

TEST_CASE("rank faults: one that stands still is given up after --comm-timeout, by name") {
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(2, run_line(run, std::string(kLong) + " --comm-timeout 2"), next_port());
  REQUIRE(wait_for_steps(run, 3));
  ranks.send(1, SIGSTOP);
  auto start = TestClock::now();
  CHECK_MESSAGE(ranks.wait(0) == 7, ranks.err(0));
  CHECK(seconds_since(start) < 4);
  CHECK_MESSAGE(contains(ranks.err(0), "waited 2 s in "), ranks.err(0));
  CHECK_MESSAGE(contains(ranks.err(0), "for rank 1"), ranks.err(0));
  ranks.send(1, SIGCONT);
  CHECK(ranks.wait(1) == 7);
}

TEST_CASE("rank faults: a rank that does not come is named, and so is a rank 0 that is not there") {
  TemporaryFolder folder, other, third;
  const int port = next_port();
  auto rank = [&](int rank, const TemporaryFolder& where, int size) {
    return shell(where, "RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(size) +
                            " MASTER_ADDR=localhost MASTER_PORT=" + std::to_string(port) + " " +
                            run_line(folder / "run", "--steps 3 --comm-timeout 2"));
  };
  Subprocess zero = rank(0, folder, 4), one = rank(1, other, 4);
  CHECK(zero.wait() == 7);
  CHECK_MESSAGE(contains(zero.err(), "ranks 2, 3 of 4 did not come to rank 0"), zero.err());
  CHECK(one.wait() == 7);
  Subprocess alone = rank(1, third, 2);
  CHECK(alone.wait() == 7);
  CHECK_MESSAGE(contains(alone.err(), "rank 1 of 2 was not received by rank 0 at localhost"), alone.err());
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_CASE(
    "rank faults: a rank of --nproc that is killed ends the others and who started them, and nobody stays behind") {
  TemporaryFolder folder, other;
  const std::string run = folder / "run";
  Subprocess parent =
      shell(other, "exec " + run_line(run, std::string(kLong) + " --nproc 3 --accumulate 3") +
                       " & parent=$!; sleep 1.5; child=$(pgrep -P $parent | tail -n 1); kill -KILL $child; "
                       "wait $parent; code=$?; pgrep -P $parent; exit $code");
  auto start = TestClock::now();
  const int code = parent.wait();
  CHECK_MESSAGE((code == 137 || code == 7), parent.err());
  CHECK(seconds_since(start) < 8);
  CHECK_MESSAGE(contains(parent.err(), "was ended by signal 9"), parent.err());
  CHECK_MESSAGE(contains(parent.err(), " is lost"), parent.err());
  CHECK(parent.out().empty());
}
