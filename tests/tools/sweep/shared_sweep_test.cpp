// Sweeps that share a study: every run trained once, whoever is killed; and what mpirun starts.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <list>
#include <random>
#include <thread>

#include "tests/support/subprocess.h"
#include "tools/report/run_reader.h"

using namespace sink;

namespace {

// Twelve runs; as tables they have one number a run that no clock changes.
const std::string kStudy =
    "name = \"tiny\"\nquestion = \"Who trains it?\"\nbaseline = \"baseline\"\nseeds = [0, 1, 2]\n"
    "[settings]\ntask = \"bigram-backcopy\"\nlayers = 1\nheads = 2\nwidth = 16\nfeed-forward = 16\ncontext = 32\n"
    "batch = 2\nsteps = 400\nwarmup = 5\neval-every = 200\neval-sequences = 4\ncheckpoint-every = 20\n"
    "[[runs]]\nablation = [\"baseline\", \"op_sigmoid_none\"]\n"
    "[[runs]]\nablation = [\"baseline\", \"op_sigmoid_none\"]\nlearning-rate = 0.002\n";

struct Place : TemporaryFolder {
  Place() { write_bytes(*this / "tiny.toml", kStudy); }
  std::string command(const std::string& more = "--workers 1") const {
    return "sweep " + *this / "tiny.toml" + " --threads 1 --out " + *this / "out" + " " + more;
  }
  bool has_tables() const { return std::filesystem::exists(*this / "out/tiny.csv"); }
};

// Each with its own files of output.
struct Sweep {
  TemporaryFolder folder;
  Subprocess process;
  explicit Sweep(const std::string& command) : process(folder, words_of(command)) {}
};

// The table of the runs without how long they took and when.
std::string numbers_in(const std::string& folder) {
  std::string text;
  for (const auto& run : std::filesystem::directory_iterator(folder))
    if (std::filesystem::exists(run.path() / "evaluation.json")) {
      const report::Run read = report::read_run_folder(run.path().string());
      std::string line = run.path().filename().string();
      for (const char* column : {"step", "train_loss", "grad_norm"})
        for (double value : read.curves.at(column)) line += " " + std::to_string(value);
      for (const auto& [name, value] : read.evaluation->scalar) line += " " + name + std::to_string(value);
      text += line + "\n";
    }
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  text.clear();
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Lines of a sweep about runs that it trained itself.
std::size_t trained(const std::string& said) {
  std::istringstream lines(said);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    if (contains(line, ": loss ") && !contains(line, "; by process ")) ++count;
  return count;
}

std::string straight_numbers() {
  static const std::string numbers = [] {
    Place place;
    Sweep sweep(place.command("--workers 2"));
    REQUIRE_MESSAGE(sweep.process.wait() == 0, sweep.process.err());
    return numbers_in(place / "out");
  }();
  return numbers;
}

bool waits_for(const std::string& file) {
  for (int tries = 0; tries < 5000; ++tries) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

}  // namespace

TEST_CASE("three sweeps of one folder train each run once, to the bits of one; who ends last writes the tables") {
  Place place;
  Sweep first(place.command()), second(place.command()), third(place.command("--nproc 2"));
  std::size_t count = 0, told = 0;
  for (Sweep* sweep : {&first, &second, &third}) {
    CHECK_MESSAGE(sweep->process.wait() == 0, sweep->process.err());
    count += trained(sweep->process.err());
    told += contains(sweep->process.out(), "12 of 12 runs complete");
    CHECK(contains(sweep->process.err(), "12 runs, "));
  }
  CHECK(count == 12);
  CHECK(told >= 1);
  CHECK(place.has_tables());
  CHECK(numbers_in(place / "out") == straight_numbers());
  for (const auto& run : std::filesystem::directory_iterator(place / "out/.queue"))
    CHECK_MESSAGE(run.path().extension() == ".1", run.path());  // nothing was taken twice
}

TEST_CASE("sweeps that are killed at any moment, some at once: others go on with their runs, to the same bits") {
  Place place;
  std::mt19937 random(5);
  std::list<Sweep> sweeps;
  std::size_t kills = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int killed = 0; killed < 8; ++killed) {
    while (sweeps.size() < 3) sweeps.emplace_back(place.command());
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + random() % 250));
    auto victim = sweeps.begin();
    std::advance(victim, random() % sweeps.size());
    victim->process.send(random() % 3 == 0 ? SIGTERM : SIGKILL);
    const int code = victim->process.wait();
    CHECK_MESSAGE((code == 0 || code == 128 + SIGKILL || code == 128 + SIGTERM), victim->process.err());
    kills += code != 0;
    sweeps.erase(victim);
  }
  for (Sweep& sweep : sweeps) CHECK_MESSAGE(sweep.process.wait() == 0, sweep.process.err());
  CHECK(kills >= 3);
  Sweep last(place.command());  // all may have been killed
  CHECK_MESSAGE(last.process.wait() == 0, last.process.err());
  CHECK(contains(last.process.out(), "12 of 12 runs complete"));
  CHECK(numbers_in(place / "out") == straight_numbers());
  MESSAGE(kills << " of 8 killed in " << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()
                << " s");
}

TEST_CASE("runs of two ranks each have the bits of runs of one, stopped and gone on with by one, too") {
  Place one, two;
  const std::string study = "--seeds 0 --set accumulate=2 --workers 1";
  Sweep alone(one.command(study));
  REQUIRE_MESSAGE(alone.process.wait() == 0, alone.process.err());
  {
    Sweep ranks(two.command(study + " --ranks 2"));
    REQUIRE(waits_for(two / "out/op_sigmoid_none-0/checkpoint.h5"));
    ranks.process.send(SIGTERM);
    CHECK_MESSAGE(ranks.process.wait() == 128 + SIGTERM, ranks.process.err());
  }
  Sweep rest(two.command(study + " --only op_sigmoid_none,baseline"));
  CHECK_MESSAGE(rest.process.wait() == 0, rest.process.err());
  Sweep ranks(two.command(study + " --ranks 2"));
  CHECK_MESSAGE(ranks.process.wait() == 0, ranks.process.err());
  CHECK(contains(ranks.process.err(), "(2 ranks a run)"));
  CHECK(contains(ranks.process.out(), "4 of 4 runs complete"));
  CHECK(numbers_in(two / "out") == numbers_in(one / "out"));
  Sweep three(two.command(study + " --ranks 3"));
  CHECK(three.process.wait() == 2);
  CHECK_MESSAGE(contains(three.process.err(), "3 ranks share the 2 micro-batches"), three.process.err());
}

TEST_CASE("a sweep on what is another host is missed after the lease, and its run gone on with") {
  Place place;
  write_bytes(place / "tiny.toml", kStudy.substr(0, kStudy.rfind("[[runs]]")));  // without the second baseline
  if (std::system("unshare --pid --fork --mount-proc true 2>/dev/null") != 0) {
    MESSAGE("skipped: no namespaces can be made here");
    return;
  }
  const std::string longer = "--workers 1 --seeds 0 --set steps=20000 --set checkpoint-every=50 --lease 1.5";
  const std::string run = place / "out/baseline-0";
  {
    Sweep away("/usr/bin/unshare --pid --fork --kill-child --mount-proc " + program_path("") + place.command(longer));
    REQUIRE(waits_for(run + "/checkpoint.h5"));
    // While it lives, nobody takes what it has.
    Sweep here(place.command(longer + " --only baseline"));
    CHECK_MESSAGE(here.process.wait() == 0, here.process.err());
    CHECK_MESSAGE(contains(here.process.err(), "nothing is left to begin"), here.process.err());
    CHECK(contains(here.process.err(), "baseline-0: process "));
    CHECK_FALSE(std::filesystem::exists(run + "/evaluation.json"));
    away.process.send(SIGKILL);
    away.process.wait();
  }
  Sweep here(place.command(longer + " --only baseline"));
  CHECK_MESSAGE(here.process.wait() == 0, here.process.err());
  CHECK_MESSAGE(contains(here.process.err(), "taken over from process "), here.process.err());
  CHECK(std::filesystem::exists(run + "/evaluation.json"));
  CHECK(place.has_tables());
}

TEST_CASE("what mpirun starts shares the runs; one that fails waits for the others, which mpirun would end") {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) {
    MESSAGE("skipped: there is no mpirun");
    return;
  }
  Place place;
  const std::string mpirun =
      "/usr/bin/env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun "
      "--oversubscribe --bind-to none -n 2 " +
      program_path("") + place.command("--workers 1 --seeds 0");
  // One of the four cannot be gone on with.
  const std::string run = place / "out/baseline-0";
  {
    Sweep first(place.command("--workers 1 --seeds 0"));
    REQUIRE(waits_for(run + "/checkpoint.h5"));
    first.process.send(SIGTERM);
    CHECK(first.process.wait() == 128 + SIGTERM);
  }
  const std::string checkpoint = read_bytes(run + "/checkpoint.h5");
  write_bytes(run + "/checkpoint.h5", checkpoint.substr(0, checkpoint.size() / 2));
  Sweep both(mpirun);
  CHECK(both.process.wait() != 0);
  CHECK_MESSAGE(contains(both.process.err(), run + ": ended with exit code 4, to be tried again"), both.process.err());
  CHECK(trained(both.process.err()) == 3);
  CHECK(place.has_tables());
  write_bytes(run + "/checkpoint.h5", checkpoint);
  Sweep again(mpirun);
  CHECK_MESSAGE(again.process.wait() == 0, again.process.err());
  CHECK(contains(again.process.out(), "4 of 4 runs complete"));
}
