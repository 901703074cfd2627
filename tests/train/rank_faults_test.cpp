// Ranks that are lost, stopped or told to stop: the others exit in time and name that rank, and the run resumes from
// its checkpoint with the bits of an undisturbed one.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "engine/rng.h"
#include "tests/support/has_mpi.h"
#include "tests/support/in_turn.h"
#include "tests/support/processes.h"
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

std::string environment_of(pid_t process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ");
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return "";
}

// Whether these ranks are no more, within 5 s.
bool have_ended(const std::vector<pid_t>& ranks) {
  auto runs = [](pid_t rank) { return !environment_of(rank, "OMPI_COMM_WORLD_RANK").empty(); };
  for (auto start = TestClock::now(); std::any_of(ranks.begin(), ranks.end(), runs); pause_for(0.02))
    if (seconds_since(start) > 5) return false;
  return true;
}

// N ranks of a user's mpirun, or of --nproc.
class Ranks {
 public:
  // `before` is what the shell does before it becomes the launcher.
  Ranks(int size, const std::string& line, bool by_nproc = false, const std::string& before = "")
      : by_nproc_(by_nproc), launcher_(shell(folder_, before + "exec " + command(size, line, by_nproc))) {}

  // A signal to one rank, once it runs.
  void send(int rank, int signal) {
    pid_t process = 0;
    for (auto start = TestClock::now(); process == 0 && seconds_since(start) < 20; pause_for(0.01))
      for (pid_t child : ranks())
        if (environment_of(child, "OMPI_COMM_WORLD_RANK") == std::to_string(rank)) process = child;
    REQUIRE(process > 0);
    ::kill(process, signal);
  }
  void send_to_launcher(int signal) { launcher_.send(signal); }
  std::vector<pid_t> ranks() {
    pid_t mpirun = launcher_.pid();
    if (by_nproc_) {
      const std::vector<pid_t> children = children_of(mpirun);
      if (children.empty()) return {};
      mpirun = children.front();
    }
    return children_of(mpirun);
  }
  int wait() { return launcher_.wait_for(60); }
  std::string err() { return launcher_.err(); }

 private:
  static std::string command(int size, const std::string& line, bool by_nproc) {
    if (by_nproc) return line + " --nproc " + std::to_string(size);
    return "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n " +
           std::to_string(size) + " " + line;
  }

  TemporaryFolder folder_;
  bool by_nproc_;
  Subprocess launcher_;
};

bool wait_for_steps(const std::string& run, std::int64_t steps) {
  for (auto start = TestClock::now(); seconds_since(start) < 20; pause_for(0.01))
    if (steps_in(run) >= steps) return true;
  return false;
}

constexpr const char* kLong = "--steps 1000000";
constexpr int kTotal = 120;

// The checkpoint of a single process in the folder `run`.
std::string undisturbed(const std::string& run, std::int64_t steps) {
  TemporaryFolder other;
  Subprocess whole(other, words_of(run_line(run, "--steps " + std::to_string(steps))));
  CHECK_MESSAGE(whole.wait() == 0, whole.err());
  return read_bytes(run + "/checkpoint.h5");
}

void goes_on(const std::string& run, const std::string& how, const std::string& expected, std::int64_t steps = kTotal) {
  TemporaryFolder other;
  Subprocess rest(other, words_of(run_line(run, "--resume auto --steps " + std::to_string(steps) + " " + how)));
  CHECK_MESSAGE(rest.wait() == 0, rest.err());
  // A run that starts over would end with the same checkpoint.
  CHECK_MESSAGE(contains(rest.err(), "resuming from " + run + "/checkpoint.h5, step "), rest.err());
  CHECK((read_bytes(run + "/checkpoint.h5") == expected));
}

}  // namespace

TEST_CASE("rank faults: one that is killed at any moment ends all within 5 s and is named; the run resumes") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string expected = undisturbed(folder / "undisturbed", kTotal);
  Rng random(11, "rank faults");
  int killed = 0;
  for (int round = 0; round < (test::is_short() ? 2 : 6); ++round) {
    const int victim = round % 3, size = victim == 2 ? 4 : 2;
    CAPTURE(round);
    const std::string run = folder / ("killed-" + std::to_string(round));
    Ranks ranks(size, run_line(run, "--steps " + std::to_string(kTotal) + " --zero " + std::to_string(round % 2)),
                round < 3);
    REQUIRE(wait_for_steps(run, 21));  // there is a checkpoint
    pause_for(0.2 * random.uniform(static_cast<std::uint64_t>(round)));
    const std::vector<pid_t> all = ranks.ranks();
    CHECK(all.size() == static_cast<std::size_t>(size));
    ranks.send(victim, SIGKILL);
    auto start = TestClock::now();
    const int code = ranks.wait();
    if (code == 0) {  // the run had ended before the signal came: it must be complete
      CHECK(steps_in(run) == kTotal);
      CHECK((read_bytes(run + "/checkpoint.h5") == expected));
      continue;
    }
    ++killed;
    CHECK_MESSAGE(code == 137, ranks.err());
    CHECK(seconds_since(start) < 5);
    CHECK(have_ended(all));
    // mpirun's message, and ours with the step.
    CHECK_MESSAGE(contains(ranks.err(), "process rank " + std::to_string(victim) + " "), ranks.err());
    CHECK_MESSAGE(contains(ranks.err(), " has SIGTERM in step "), ranks.err());
    CHECK_MESSAGE(contains(ranks.err(), "for rank"), ranks.err());
    goes_on(run, round % 2 ? "" : "--nproc 2", expected);
  }
  CHECK(killed >= (test::is_short() ? 1 : 3));
}

TEST_CASE("rank faults: SIGTERM to any rank, SIGUSR2 to mpirun: all save at one step and leave") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  for (int told : test::some_of({1, 0, -1})) {
    CAPTURE(told);
    const std::string run = folder / ("told" + std::to_string(told));
    Ranks ranks(2, run_line(run, kLong));
    REQUIRE(wait_for_steps(run, 5));
    told < 0 ? ranks.send_to_launcher(SIGUSR2) : ranks.send(told, SIGTERM);
    const int signal = told < 0 ? SIGUSR2 : SIGTERM;
    CHECK_MESSAGE(ranks.wait() == 128 + signal, ranks.err());
    CHECK_MESSAGE(contains(ranks.err(), "stopped by signal " + std::to_string(signal)), ranks.err());
    CHECK(std::filesystem::exists(run + "/checkpoint.h5"));
  }
}

TEST_CASE("rank faults: a signal to the parent of --nproc stops all at one step with its code, and the run resumes") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  for (int signal : test::some_of({SIGTERM, SIGINT, SIGHUP})) {
    CAPTURE(signal);
    const std::string run = folder / ("parent-" + std::to_string(signal));
    Ranks ranks(4, run_line(run, kLong), /*by_nproc=*/true);
    REQUIRE(wait_for_steps(run, 3));
    ranks.send_to_launcher(signal);
    REQUIRE_MESSAGE(ranks.wait() == 128 + signal, ranks.err());
    CHECK_MESSAGE(contains(ranks.err(), "stopped by signal "), ranks.err());
    const std::int64_t steps = steps_in(run) + 40;  // the step at which it stopped is not known beforehand
    goes_on(run, "--nproc 2 --zero 1", undisturbed(run + "-undisturbed", steps), steps);
  }
}

// A micro-batch takes about as long as mpirun gives the ranks after a SIGTERM. Sanitizers make it ten times as long.
#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSlowSteps = " --width 64 --context 128 --batch 16 --accumulate 2";
#else
constexpr const char* kSlowSteps = " --layers 4 --width 256 --context 128 --batch 24 --accumulate 2";
#endif

TEST_CASE("rank faults: two SIGINTs at once are one wish to stop, and the parent of --nproc lets the ranks save") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(2, run_line(run, std::string(kLong) + kSlowSteps + " --checkpoint-every 1000000"), /*by_nproc=*/true);
  REQUIRE(wait_for_steps(run, 1));
  ranks.send_to_launcher(SIGINT);
  pause_for(0.05);
  ranks.send_to_launcher(SIGINT);
  CHECK_MESSAGE(ranks.wait() == 128 + SIGINT, ranks.err());
  CHECK(std::filesystem::exists(run + "/checkpoint.h5"));
}

TEST_CASE("rank faults: the parent of --nproc hears no SIGHUP under nohup, and ends where SIGCHLD was ignored") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(2, run_line(run, "--steps 300"), /*by_nproc=*/true, "trap '' HUP CHLD; ");
  REQUIRE(wait_for_steps(run, 2));
  ranks.send_to_launcher(SIGHUP);
  CHECK_MESSAGE(ranks.wait() == 0, ranks.err());
  CHECK(steps_in(run) == 300);
}

TEST_CASE("rank faults: SIGUSR1 to one rank, or to the parent of --nproc, makes all of them save and continue") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  for (bool by_nproc : test::some_of({true, false})) {
    const std::string run = folder / (by_nproc ? "nproc" : "mpirun");
    Ranks ranks(2, run_line(run, std::string(kLong) + " --zero 1 --checkpoint-every 1000000"), by_nproc);
    REQUIRE(wait_for_steps(run, 5));
    CHECK_FALSE(std::filesystem::exists(run + "/checkpoint.h5"));
    by_nproc ? ranks.send_to_launcher(SIGUSR1) : ranks.send(1, SIGUSR1);
    for (int n = 0; n < 200 && !std::filesystem::exists(run + "/checkpoint.h5"); ++n) pause_for(0.02);
    CHECK(std::filesystem::exists(run + "/checkpoint.h5"));
    const std::int64_t steps = steps_in(run);
    CHECK(wait_for_steps(run, steps + 5));
    ranks.send(0, SIGTERM);
    // The parent of --nproc has not been told, and passes on the code.
    CHECK_MESSAGE(ranks.wait() == 128 + SIGTERM, ranks.err());
  }
}

TEST_CASE("rank faults: one that stands still is given up after --comm-timeout, by name, and ended") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(2, run_line(run, std::string(kLong) + " --comm-timeout 2"));
  REQUIRE(wait_for_steps(run, 3));
  ranks.send(1, SIGSTOP);
  auto start = TestClock::now();
  CHECK_MESSAGE(ranks.wait() == 7, ranks.err());
  CHECK(seconds_since(start) < 7);
  CHECK_MESSAGE(contains(ranks.err(), "waited 2 s in "), ranks.err());
  CHECK_MESSAGE(contains(ranks.err(), "for rank 1"), ranks.err());
}

TEST_CASE("rank faults: a rank that fails ends all with its code") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(3, run_line(run, std::string(kLong) + " --accumulate 3"));
  REQUIRE(wait_for_steps(run, 3));
  std::filesystem::rename(run, run + "-gone");  // the next checkpoint of rank 0 has no folder
  CHECK_MESSAGE(ranks.wait() == 8, ranks.err());
  CHECK_MESSAGE(contains(ranks.err(), "error: "), ranks.err());
}

TEST_CASE("rank faults: the ranks end with the parent of --nproc") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string run = folder / "run";
  Ranks ranks(2, run_line(run, kLong), /*by_nproc=*/true);
  REQUIRE(wait_for_steps(run, 3));
  const std::vector<pid_t> all = ranks.ranks();
  REQUIRE(all.size() == 2);
  ranks.send_to_launcher(SIGKILL);
  CHECK(ranks.wait() == 128 + SIGKILL);
  CHECK(have_ended(all));
}

TEST_CASE("rank faults: no rank begins when the parent of --nproc is killed before mpirun is tied to it") {
  const std::string shim = program_path("tests/libfault_shim.so");
  if (!has_mpi() || !std::filesystem::exists(shim)) return;  // the sanitizers' builds have no shim
  TemporaryFolder folder;
  std::vector<std::string> words{"/usr/bin/env", "LD_PRELOAD=" + shim, "FAULT_CALL=prctl:1:late"};
  for (const std::string& word : words_of(program_path(run_line(folder / "run", "--steps 1000000 --nproc 2"))))
    words.push_back(word);
  Subprocess parent(folder, words);
  const pid_t child = first_child_of(parent.pid());
  REQUIRE(child > 0);
  parent.send(SIGKILL);
  CHECK(parent.wait() == 128 + SIGKILL);
  CHECK(ends_within(child, 5));
  ::kill(child, SIGTERM);
}
