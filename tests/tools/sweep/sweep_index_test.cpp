// The jobs of a study one by one, as a scheduler runs them: `sweep --list`, `--index N` and `--collect`.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>
#include <random>
#include <thread>

#include "engine/io/checkpoint.h"
#include "tests/support/has_mpi.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"
#include "tools/report/run_reader.h"
#include "tools/sweep/study_output.h"

using namespace sink;

namespace {

// Six jobs of two seeds: 0, 1, 3 and 4 start by themselves, 2 from 0 and 5 from 3.
const std::string kStudy =
    "name = \"tiny\"\nquestion = \"Who trains it?\"\nbaseline = \"baseline\"\nseeds = [0, 1]\n"
    "[settings]\ntask = \"bigram-backcopy\"\nlayers = 1\nheads = 2\nwidth = 16\nfeed-forward = 16\ncontext = 32\n"
    "batch = 2\naccumulate = 2\nsteps = 40\nwarmup = 5\neval-every = 20\neval-sequences = 4\ncheckpoint-every = 10\n"
    "[[runs]]\nablation = [\"baseline\", \"op_sigmoid_none\"]\n";
const std::string kTuned = "[[runs]]\nfrom = \"baseline\"\nsteps = 10\nlearning-rate = 0.001\n";
const std::string kDiverging =
    "[[runs]]\nablation = \"baseline\"\nweight-decay = 1000\nwarmup = 0\nclip = 0\nlearning-rate = 100\n";

struct Place : TemporaryFolder {
  explicit Place(const std::string& study = kStudy + kTuned) { write_bytes(*this / "tiny.toml", study); }
  // Runs in the study's folder, so that the outputs of two places contain the same paths.
  std::string command(const std::string& more) const {
    return "/usr/bin/env -C " + path + " " + program_path("sweep") + " " + *this / "tiny.toml" + " --out out " + more;
  }
  std::string job(std::size_t index, const std::string& more = "") const {
    return command("--index " + std::to_string(index) + " " + more);
  }
};

// Each sweep has its own output files.
struct Sweep {
  TemporaryFolder folder;
  Subprocess process;
  explicit Sweep(const std::string& command) : process(folder, words_of(command)) {}
  int wait() const { return process.wait(); }
  std::string out() const { return process.out(); }
  std::string err() const { return process.err(); }
};

constexpr const char* kTables[] = {"tiny.csv", "tiny-runs.csv", "tiny.json", "tiny.md", "tiny.svg", "tiny.html"};

bool waits_for(const std::string& file) {
  for (int tries = 0; tries < 5000; ++tries) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// A CSV table whose fields have no line ends, without the columns that clocks fill.
std::string without_clocks(const std::string& csv) {
  std::istringstream lines(csv);
  std::vector<bool> is_clock;
  std::string kept;
  for (std::string line; std::getline(lines, line); kept += "\n") {
    std::size_t column = 0;
    std::string field;
    bool quoted = false;
    for (char c : line + ",") {
      if (c == '"') quoted = !quoted;
      if (c != ',' || quoted) {
        field += c;
        continue;
      }
      if (kept.find('\n') == std::string::npos) is_clock.push_back(field == "seconds" || field == "date");
      if (!is_clock.at(column++)) kept += field + ",";
      field.clear();
    }
  }
  return kept;
}

// Kills a job and the processes that it has started, which have its command line, as a scheduler's SIGKILL does.
void kill_whole(const Sweep& job, const Place& place) {
  job.process.send(SIGKILL);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        contains(read_bytes(entry.path().string() + "/cmdline"), place / "tiny.toml"))
      kill(std::stoi(name), SIGKILL);
  }
}

}  // namespace

TEST_CASE("sweep --list: a line of CSV for every job, and nothing is written") {
  Place place;
  Sweep list(place.command("--list"));
  REQUIRE_MESSAGE(list.wait() == 0, list.err());
  const std::string out = "out/";
  CHECK(list.out() ==
        "index,run,ablation,seed,after,folder\n"
        "0,baseline,baseline,0,," +
            out +
            "baseline-0\n"
            "1,op_sigmoid_none,op_sigmoid_none,0,," +
            out +
            "op_sigmoid_none-0\n"
            "2,baseline-tuned,baseline,0,0," +
            out +
            "baseline-tuned-0\n"
            "3,baseline,baseline,1,," +
            out +
            "baseline-1\n"
            "4,op_sigmoid_none,op_sigmoid_none,1,," +
            out +
            "op_sigmoid_none-1\n"
            "5,baseline-tuned,baseline,1,3," +
            out + "baseline-tuned-1\n");
  Sweep one(place.command("--list --only op_sigmoid_none --seeds 7"));
  CHECK(one.wait() == 0);
  CHECK(contains(one.out(), "\n0,op_sigmoid_none,op_sigmoid_none,7,," + out + "op_sigmoid_none-7\n"));
  CHECK_FALSE(std::filesystem::exists(place / "out"));
}

TEST_CASE("sweep --index: an index that is not a job is refused in one sentence") {
  Place place;
  const std::pair<const char*, const char*> cases[] = {
      {"--index 6", "--index must be from 0 to 5: these options give 6 jobs, got 6; `sweep STUDY --list` prints them"},
      {"--index -1", "--index must be a whole number from 0"},
      {"--index x", "--index must be a whole number from 0"},
      {"--only op_sigmoid_none --seeds 1 --index 1", "--index must be from 0 to 0: these options give 1 jobs, got 1"},
      {"--index 1 --collect", "--list, --index, --collect and --dry-run exclude each other; give one"},
      {"--list --dry-run", "--list, --index, --collect and --dry-run exclude each other; give one"},
      {"--index 1 --workers 2", "--index runs one job; leave out --workers"}};
  for (const auto& [options, sentence] : cases) {
    CAPTURE(options);
    Sweep wrong(place.command(options));
    CHECK(wrong.wait() == 2);
    const std::string message = wrong.err();
    CHECK_MESSAGE(contains(message, std::string("sweep: error: ") + sentence), message);
    CHECK(std::count(message.begin(), message.end(), '\n') == 1);
  }
  Sweep rank(place.command("--index 1 --threads 1 --as-rank out/other-0"));
  CHECK(rank.wait() == 2);
  CHECK_MESSAGE(contains(rank.err(), "has changed since this sweep began: job 1 is out/op_sigmoid_none-0 now"),
                rank.err());
  CHECK_FALSE(std::filesystem::exists(place / "out"));
  Sweep nothing("sweep --index 0");
  CHECK(nothing.wait() == 2);
  CHECK(contains(nothing.err(), "give a study, a TOML file"));
}

TEST_CASE("sweep: jobs in any order and at once, collected, give the files of one sweep on one machine") {
  Place jobs, one;
  Sweep straight(one.command("--threads 1 --workers 2"));
  REQUIRE_MESSAGE(straight.wait() == 0, straight.err());
  for (const std::vector<std::size_t>& together : {std::vector<std::size_t>{4, 0, 3, 1}, {5, 2}}) {
    std::list<Sweep> running;
    for (std::size_t index : together) running.emplace_back(jobs.job(index));
    for (Sweep& job : running) {
      CHECK_MESSAGE(job.wait() == 0, job.err());
      CHECK_MESSAGE(contains(job.err(), "[1/1] out/"), job.err());
      CHECK(job.out().empty());
    }
  }
  for (const char* table : kTables) CHECK_FALSE(std::filesystem::exists(jobs / ("out/" + std::string(table))));
  Sweep collected(jobs.command("--collect"));
  CHECK_MESSAGE(collected.wait() == 0, collected.err());
  CHECK(contains(collected.err(), "sweep: tiny: 6 jobs: 6 complete, 0 failed, 0 missing\n"));
  CHECK(contains(collected.out(), "6 of 6 runs complete"));
  for (const char* run : {"baseline-0", "op_sigmoid_none-1", "baseline-tuned-1"}) {
    const std::string file = "out/" + std::string(run) + "/checkpoint.h5";
    CHECK_MESSAGE(read_bytes(jobs / file) == read_bytes(one / file), run);
  }
  CHECK(read_bytes(jobs / "out/tiny.csv") == read_bytes(one / "out/tiny.csv"));
  CHECK(read_bytes(jobs / "out/tiny.svg") == read_bytes(one / "out/tiny.svg"));
  CHECK(without_clocks(read_bytes(jobs / "out/tiny-runs.csv")) ==
        without_clocks(read_bytes(one / "out/tiny-runs.csv")));

  // Of the same run folders, whose clocks are the same, all bytes are.
  std::vector<std::string> bytes;
  for (const char* table : kTables) bytes.push_back(read_bytes(jobs / ("out/" + std::string(table))));
  Sweep whole(jobs.command("--threads 1 --workers 2"));
  CHECK(whole.wait() == 0);
  CHECK(contains(whole.err(), "6 runs, 0 to do"));
  CHECK(whole.out() == collected.out());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    CHECK_MESSAGE(read_bytes(jobs / ("out/" + std::string(kTables[i]))) == bytes[i], kTables[i]);
  Sweep again(jobs.job(4));
  CHECK(again.wait() == 0);
  CHECK(contains(again.err(), "complete, nothing to do"));
}

TEST_CASE("sweep: a job that is killed or stopped and queued again has the bits of one that never was") {
  Place straight, broken;
  const std::string longer = "--set checkpoint-every=20 --set eval-every=1000 --only op_sigmoid_none --set steps=" +
                             std::string(test::kSanitizer ? "700" : "2000");
  Sweep whole(straight.job(0, longer));
  REQUIRE_MESSAGE(whole.wait() == 0, whole.err());
  const std::string run = broken / "out/op_sigmoid_none-0";
  std::mt19937 random(3);
  std::string first_steps;  // of the log, with their clocks: they stay where a job continues
  int stopped = 0, killed = 0;
  const auto log_size = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(run + "/metrics.jsonl", none);
    return none ? 0 : size;
  };
  for (int round = 0; round < (test::is_short() ? 4 : 6); ++round) {
    const auto before = log_size();
    Sweep job(broken.job(0, longer));
    REQUIRE(waits_for(run + "/checkpoint.h5"));
    // Until it trains, it does not listen to signals; a job that is refused (2) never does.
    for (int tries = 0; tries < 400 && log_size() == before; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 150));
    if (round % 2 == 0)
      job.process.send(SIGTERM);
    else
      kill_whole(job, broken);
    const int code = job.wait();
    // 2: a process that the previous round killed still existed.
    CHECK_MESSAGE((code == 0 || code == 2 || code == 128 + (round % 2 == 0 ? SIGTERM : SIGKILL)), job.err());
    if (first_steps.empty()) first_steps = read_bytes(run + "/metrics.jsonl").substr(0, 1000);
    stopped += code == 128 + SIGTERM;
    killed += code == 128 + SIGKILL;
    if (code == 128 + SIGTERM)
      CHECK_MESSAGE(contains(job.err(), "stopped by signal 15; the same command continues"), job.err());
  }
  CHECK(stopped >= 1);
  CHECK(killed >= 1);
  int code = 2;
  for (int tries = 0; tries < 50 && code == 2; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    code = Sweep(broken.job(0, longer)).wait();
  }
  CHECK(code == 0);
  REQUIRE(std::filesystem::exists(run + "/evaluation.json"));
  CHECK(first_steps.size() == 1000);
  CHECK(read_bytes(run + "/metrics.jsonl").starts_with(first_steps));
  CHECK(read_bytes(run + "/checkpoint.h5") == read_bytes(straight / "out/op_sigmoid_none-0/checkpoint.h5"));
  MESSAGE(stopped << " stopped, " << killed << " killed");
}

TEST_CASE("sweep: of two jobs on one run folder the second is refused, and the first is not disturbed") {
  Place place;
  const std::string endless = "--set steps=1000000 --set eval-every=1000000";
  Sweep first(place.job(0, endless));
  REQUIRE(waits_for(place / "out/baseline-0/checkpoint.h5"));
  Sweep second(place.job(0, endless));
  CHECK(second.wait() == 2);
  CHECK_MESSAGE(contains(second.err(), "sweep: error: out/baseline-0 is in use by process "), second.err());
  CHECK(contains(second.err(), "(sweep) on "));
  CHECK(contains(second.err(), "; wait until it is done, or choose another folder"));
  Sweep other(place.job(1));  // another run folder of the study
  CHECK_MESSAGE(other.wait() == 0, other.err());
  first.process.send(SIGTERM);
  CHECK_MESSAGE(first.wait() == 128 + SIGTERM, first.err());
}

TEST_CASE("sweep --collect: missing jobs have no result, and the study is not complete") {
  Place place(kStudy + kTuned + kDiverging);
  const std::string run = "baseline-weight-decay-1000-warmup-0-clip-0-learning-rate-100";
  CHECK(Sweep(place.job(1, "--seeds 0")).wait() == 0);
  Sweep early(place.job(2, "--seeds 0"));  // whose start is not complete
  CHECK(early.wait() == 3);
  CHECK_MESSAGE(contains(early.err(), "job 2 starts from job 0, out/baseline-0, which is not complete"), early.err());
  Sweep diverged(place.job(3, "--seeds 0"));
  CHECK_MESSAGE(diverged.wait() == 0, diverged.err());  // as in a sweep: the divergence is the result
  CHECK(contains(diverged.err(), run + "-0: failed: "));
  Sweep some(place.command("--seeds 0 --collect"));
  CHECK(some.wait() == 3);
  CHECK_MESSAGE(contains(some.err(), "sweep: tiny: 4 jobs: 1 complete, 1 failed, 2 missing\n"), some.err());
  CHECK(contains(some.err(),
                 "  failed: job 3, out/" + run + "-0: " + read_bytes(place / ("out/" + run + "-0/failure.txt"))));
  CHECK(contains(some.err(), "  missing: job 0, out/baseline-0: not begun\n"));
  CHECK(contains(some.err(), "  missing: job 2, out/baseline-tuned-0: starts from job 0, which is not"));
  const std::string options = place / "tiny.toml" + " --size cpu --out out --seeds 0";
  CHECK(contains(some.err(), "sweep " + options + " --index 0\n"));
  CHECK(contains(some.err(), "sweep " + options + " --index {} ::: 0\n"));
  CHECK(contains(some.err(), "sbatch --array=0 tools/launch/sweep_array.sbatch " + options + "\n"));
  CHECK(contains(some.err(), "sweep " + options + " --retry --index N, N of 3\n"));
  CHECK(contains(some.out(), "1 of 4 runs complete"));
  const std::string csv = read_bytes(place / "out/tiny.csv");
  CHECK(contains(csv, "\ntiny,cpu,baseline,baseline,1,0,,,"));  // no run, no value
  CHECK(contains(csv, "\ntiny,cpu,op_sigmoid_none,op_sigmoid_none,1,1,"));
  CHECK(contains(csv, "seed 0: not begun"));
  CHECK_FALSE(std::filesystem::exists(place / "out/baseline-0"));

  // No job is missing once all have run; failed jobs stay failed until they are retried.
  for (std::size_t index : {0, 2}) CHECK(Sweep(place.job(index, "--seeds 0")).wait() == 0);
  Sweep all(place.command("--seeds 0 --collect"));
  CHECK_MESSAGE(all.wait() == 0, all.err());
  CHECK(contains(all.err(), "4 jobs: 3 complete, 1 failed, 0 missing\n"));
  CHECK(contains(all.out(), "3 of 4 runs complete"));
  const std::string failure = place / ("out/" + run + "-0/failure.txt"), reason = read_bytes(failure);
  std::filesystem::remove(failure);  // another file, to see whether it is written again
  write_bytes(failure, "an older reason\n");
  Sweep kept(place.job(3, "--seeds 0"));
  CHECK(kept.wait() == 0);
  CHECK(contains(kept.err(), "failed before; --retry trains it again"));
  CHECK(read_bytes(failure) == "an older reason\n");
  CHECK(Sweep(place.job(3, "--seeds 0 --retry")).wait() == 0);
  CHECK(read_bytes(failure) == reason);
}

TEST_CASE("sweep --collect: a table that has the only copy of a run is not replaced") {
  Place place(kStudy);
  for (std::size_t index : {0, 1}) CHECK(Sweep(place.job(index, "--seeds 0")).wait() == 0);
  REQUIRE(Sweep(place.command("--seeds 0 --collect")).wait() == 0);
  const std::string rows = read_bytes(place / "out/tiny-runs.csv"), table = read_bytes(place / "out/tiny.csv");
  std::filesystem::remove_all(place / "out/baseline-0");
  for (const char* options : {"--seeds 0 --collect", "--seeds 0 --only op_sigmoid_none"}) {
    Sweep refused(place.command(options));
    CHECK(refused.wait() == 2);
    CHECK_MESSAGE(
        contains(refused.err(), "tiny-runs.csv has 1 complete run, such as baseline-0, without a folder here"),
        refused.err());
    CHECK(read_bytes(place / "out/tiny-runs.csv") == rows);
    CHECK(read_bytes(place / "out/tiny.csv") == table);
  }
  CHECK(Sweep(place.command("--seeds 0 --collect --force")).wait() == 3);
  CHECK_FALSE(contains(read_bytes(place / "out/tiny-runs.csv"), "baseline-0"));
}

TEST_CASE("sweep: a job measures the interventions of its run, and without them it is missing") {
  Place place("interventions = true\n" + kStudy);
  for (std::size_t index : {0, 1}) CHECK(Sweep(place.job(index, "--seeds 0")).wait() == 0);
  CHECK(Sweep(place.command("--seeds 0 --collect")).wait() == 0);
  const std::string file = place / "out/baseline-0/interventions.json", written = read_bytes(file);
  CHECK(written.size() > 10);
  std::filesystem::remove(file);
  Sweep lost(place.command("--seeds 0 --collect"));
  CHECK(lost.wait() == 3);
  CHECK_MESSAGE(contains(lost.err(), "missing: job 0, out/baseline-0: complete, but its interventions are"),
                lost.err());
  Sweep again(place.job(0, "--seeds 0"));
  CHECK(again.wait() == 0);
  CHECK_MESSAGE(contains(again.err(), "baseline-0: interventions measured"), again.err());
  CHECK(read_bytes(file) == written);
}

TEST_CASE("sweep: rows of an earlier table are jobs that need not run") {
  Place place;
  REQUIRE(Sweep(place.command("--seeds 0 --only op_sigmoid_none --threads 1 --workers 1")).wait() == 0);
  std::filesystem::rename(place / "out/tiny-runs.csv", place / "earlier.csv");
  std::filesystem::remove_all(place / "out");
  const std::string options = "--seeds 0 --only op_sigmoid_none --earlier " + place / "earlier.csv";
  Sweep job(place.job(0, options));
  CHECK(job.wait() == 0);
  CHECK(contains(job.err(), "complete, nothing to do"));
  CHECK_FALSE(std::filesystem::exists(place / "out"));
  Sweep collected(place.command(options + " --collect"));
  CHECK_MESSAGE(collected.wait() == 0, collected.err());
  CHECK(contains(collected.out(), "1 of 1 runs complete"));
}

TEST_CASE("sweep: jobs of two ranks each have the bits of jobs of one, and stop and continue with any number") {
  if (!has_mpi()) return;
  Place one, two;
  const std::string study = "--seeds 0 --set steps=400 --set checkpoint-every=20 ";
  REQUIRE(Sweep(one.job(1, study)).wait() == 0);
  {
    Sweep ranks(two.job(1, study + "--ranks 2 --threads 1"));
    REQUIRE(waits_for(two / "out/op_sigmoid_none-0/checkpoint.h5"));
    ranks.process.send(SIGTERM);
    const int code = ranks.wait();
    CHECK_MESSAGE((code == 128 + SIGTERM || code == 0), ranks.err());
  }
  Sweep rest(two.job(1, study + "--ranks 2"));
  CHECK_MESSAGE(rest.wait() == 0, rest.err());
  CHECK(read_bytes(two / "out/op_sigmoid_none-0/checkpoint.h5") ==
        read_bytes(one / "out/op_sigmoid_none-0/checkpoint.h5"));
  Sweep all(two.command("--seeds 0 --set steps=400 --set checkpoint-every=20 --ranks 2 --workers 1"));
  CHECK_MESSAGE(all.wait() == 0, all.err());
  CHECK(contains(all.err(), "(2 ranks a run)"));
  CHECK(contains(all.out(), "3 of 3 runs complete"));
  Sweep three(two.job(1, study + "--ranks 3"));
  CHECK(three.wait() == 2);
  CHECK_MESSAGE(contains(three.err(), "3 ranks share the 2 micro-batches"), three.err());
}

TEST_CASE("sweep: a failed job that is retried on two ranks begins at its first step") {
  if (!has_mpi()) return;
  Place one, two;
  const std::string study = "--seeds 0 --set steps=40 --set checkpoint-every=20 ", run = "out/op_sigmoid_none-0";
  REQUIRE(Sweep(one.job(1, study)).wait() == 0);
  // A run that failed with other weights than it would have now.
  REQUIRE(Sweep(two.job(1, study + "--threads 1")).wait() == 0);
  std::filesystem::remove(two / (run + "/evaluation.json"));
  Checkpoint failed = load_checkpoint(one / (run + "/checkpoint.h5"));
  failed.attributes["step"] = failed.attributes["updates"] = "20";
  failed.attributes["tokens"] = std::to_string(failed.integer("tokens") / 2);
  save_checkpoint(two / (run + "/checkpoint.h5"), failed);
  write_bytes(two / (run + "/failure.txt"), "diverged\n");

  Sweep kept(two.job(1, study + "--ranks 2"));
  CHECK(kept.wait() == 0);
  CHECK_MESSAGE(contains(kept.err(), "failed before; --retry trains it again"), kept.err());
  Sweep retried(two.job(1, study + "--ranks 2 --retry"));
  CHECK_MESSAGE(retried.wait() == 0, retried.err());
  CHECK(read_bytes(two / (run + "/checkpoint.h5")) == read_bytes(one / (run + "/checkpoint.h5")));
  CHECK_FALSE(std::filesystem::exists(two / (run + "/failure.txt")));
}

TEST_CASE("sweep: a launcher's processes have a job each, or are refused") {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) {
    MESSAGE("skipped: there is no mpirun");
    return;
  }
  Place place;
  const std::string mpirun =
      "/usr/bin/env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -n "
      "2 ";
  Sweep whole(mpirun + place.command(""));
  CHECK(whole.wait() == 2);
  CHECK_MESSAGE(contains(whole.err(), "mpirun or srun has started 2 processes"), whole.err());
  CHECK_FALSE(std::filesystem::exists(place / "out"));
  write_bytes(place / "job.sh", "exec " + place.command("--index $OMPI_COMM_WORLD_RANK") + "\n");
  Sweep jobs(mpirun + "/bin/sh " + place / "job.sh");
  CHECK_MESSAGE(jobs.wait() == 0, jobs.err());
  for (const char* run : {"baseline-0", "op_sigmoid_none-0"})
    CHECK_MESSAGE(std::filesystem::exists(place / ("out/" + std::string(run) + "/evaluation.json")), run);
}

TEST_CASE("sweep --collect: commands name indices as sbatch and words as a shell takes them") {
  CHECK(index_ranges({}).empty());
  CHECK(index_ranges({4}) == "4");
  CHECK(index_ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(shell_word("runs/a-1.5_x=2") == "runs/a-1.5_x=2");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
}
