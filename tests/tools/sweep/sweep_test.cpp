// Tests of the program sweep: a stopped study continues to the same bytes, failures are rows, other runs are not
// changed.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <thread>

#include "engine/io/folder_lock.h"
#include "tests/support/in_turn.h"
#include "tests/support/processes.h"
#include "tests/support/subprocess.h"
#include "tools/report/results_csv.h"
#include "tools/report/run_reader.h"

using namespace sink;

namespace {

// A study that takes a moment: two runs, two seeds.
const std::string kStudy =
    "name = \"tiny\"\nquestion = \"Does it go on?\"\nbaseline = \"baseline\"\nseeds = [0, 1]\n"
    "[settings]\ntask = \"bigram-backcopy\"\nlayers = 1\nheads = 2\nwidth = 16\nfeed-forward = 16\ncontext = 32\n"
    "batch = 2\nsteps = 40\nwarmup = 5\neval-every = 20\neval-sequences = 4\ncheckpoint-every = 10\n"
    "[[runs]]\nablation = [\"baseline\", \"op_sigmoid_none\"]\n";

struct Place : TemporaryFolder {
  explicit Place(const std::string& study = kStudy) { write_bytes(*this / "tiny.toml", study); }
  std::string command(const std::string& more = "") const {
    return "sweep " + *this / "tiny.toml" + " --workers 2 --threads 1 --out " + *this / "out" + " " + more;
  }
};

// A run's curves and evaluation, without clocks and dates.
std::string numbers_of(const std::string& run) {
  report::Run read = report::read_run_folder(run);
  std::string text;
  for (const char* column : {"step", "train_loss", "grad_norm", "val_loss", "sink_1"})
    for (double value : read.curves.at(column)) text += std::to_string(value) + " ";
  for_each_measure(*read.evaluation, [&](const Measure& measure, bool raw, const double* scalar, auto) {
    if (scalar) text += key_of(measure, raw, false) + std::to_string(*scalar) + " ";
  });
  for (const auto& [name, value] : read.evaluation->scalar) text += name + std::to_string(value) + " ";
  return text;
}

}  // namespace

TEST_CASE("sweep: a study makes run folders and tables; nothing is done twice; a lost run is made again") {
  Place place;
  Subprocess first(place, words_of(place.command()));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  CHECK(contains(first.err(), "tiny: 4 runs, 4 to do; 2 at once, 1 thread each (as given)"));
  CHECK(contains(first.out(), "op_sigmoid_none  2 "));
  CHECK(contains(first.out(), "4 of 4 runs complete"));
  const std::string csv = read_bytes(place / "out/tiny.csv"), html = read_bytes(place / "out/tiny.html");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(contains(html, "<svg xmlns"));
  CHECK(contains(read_bytes(place / "out/tiny.json"), "\"planned_steps\": "));
  for (const char* name : {"config.toml", "metrics.jsonl", "checkpoint.h5", "evaluation.json"})
    CHECK_MESSAGE(std::filesystem::exists(place / ("out/op_sigmoid_none-1/" + std::string(name))), name);

  const std::string markdown = read_bytes(place / "out/tiny.md"), before = numbers_of(place / "out/baseline-0");
  Subprocess again(place, words_of(place.command()));
  CHECK(again.wait() == 0);
  CHECK(contains(again.err(), "4 runs, 0 to do"));
  CHECK(read_bytes(place / "out/tiny.md") == markdown);  // same input, same bytes
  CHECK(read_bytes(place / "out/tiny.csv") == csv);
  CHECK(read_bytes(place / "out/tiny.html") == html);
  std::filesystem::remove_all(place / "out/baseline-0");
  Subprocess third(place, words_of(place.command()));
  CHECK(third.wait() == 0);
  CHECK(contains(third.err(), "4 runs, 1 to do"));
  CHECK(numbers_of(place / "out/baseline-0") == before);

  Subprocess other(place, words_of(place.command("--set width=32")));
  CHECK(other.wait() == 2);
  CHECK_MESSAGE(contains(other.err(), "out/baseline-0 holds a run with width = 16 instead of 32"), other.err());
}

TEST_CASE("sweep: killed in the middle it continues to the same values") {
  Place straight, killed;
  const std::string longer = "--set checkpoint-every=50 --set eval-every=1000 --seeds 0 --set steps=" +
                             std::string(test::kSanitizer ? "600" : "3000");
  Subprocess whole(straight, words_of(straight.command(longer)));
  REQUIRE_MESSAGE(whole.wait() == 0, whole.err());
  {
    Subprocess first(killed, words_of(killed.command(longer)));
    while (!std::filesystem::exists(killed / "out/baseline-0/checkpoint.h5"))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    first.send(SIGKILL);
    CHECK(first.wait() == 128 + SIGKILL);
  }
  CHECK_FALSE(std::filesystem::exists(killed / "out/baseline-0/evaluation.json"));
  // The runs of the one that was killed may still be saving themselves: that is waited for.
  Subprocess second(killed, words_of(killed.command(longer)));
  CHECK_MESSAGE(second.wait() == 0, second.err());
  for (const char* run : {"out/baseline-0", "out/op_sigmoid_none-0"}) {
    CAPTURE(run);
    CHECK(numbers_of(killed / run) == numbers_of(straight / run));
  }
}

TEST_CASE("sweep: a run ends with the sweep that is killed, also when that happens before it is tied to it") {
  const std::string shim = program_path("tests/libfault_shim.so");
  for (const bool late : {false, true}) {
    CAPTURE(late);
    if (late && !std::filesystem::exists(shim)) continue;  // the sanitizers' builds have none
    Place place;
    const std::string log = place / "out/baseline-0/metrics.jsonl";
    std::vector<std::string> words{"/usr/bin/env"};
    // Of all runs: their calls are counted together, and either may be first.
    if (late) words.insert(words.end(), {"LD_PRELOAD=" + shim, "FAULT_CALL=prctl:1:late+"});
    for (const std::string& word : words_of(program_path(place.command("--seeds 0 --set steps=1000000"))))
      words.push_back(word);
    Subprocess sweep(place, words);
    const pid_t child = first_child_of(sweep.pid());
    REQUIRE(child > 0);
    for (int i = 0; !late && i < 2000 && read_bytes(log).empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    sweep.send(SIGKILL);
    CHECK(sweep.wait() == 128 + SIGKILL);
    CHECK(ends_within(child, 10));  // it saves the run first
    CHECK(read_bytes(log).empty() == late);
    ::kill(child, SIGKILL);
  }
}

TEST_CASE("sweep: a diverged run is a row with its reason, and is not tried again unless asked") {
  Place place(kStudy +
              "[[runs]]\nablation = \"baseline\"\nweight-decay = 1000\nwarmup = 0\nclip = 0\nlearning-rate = 100\n");
  const std::string run = "baseline-weight-decay-1000-warmup-0-clip-0-learning-rate-100",
                    failure = place / ("out/" + run + "-0/failure.txt");
  Subprocess first(place, words_of(place.command("--seeds 0")));
  CHECK_MESSAGE(first.wait() == 0, first.err());
  CHECK_MESSAGE(contains(first.out(), "\n" + run + "  0 "), first.out());
  CHECK(contains(first.out(), "seed 0: failed: "));
  CHECK(contains(first.out(), "2 of 3 runs complete"));
  const std::string reason = read_bytes(failure);
  CHECK(reason.size() > 10);
  CHECK(contains(first.out(), reason.substr(0, reason.size() - 1)));

  Subprocess again(place, words_of(place.command("--seeds 0")));
  CHECK(again.wait() == 0);
  CHECK(contains(again.err(), "3 runs, 0 to do"));
  CHECK(again.out() == first.out());
  std::filesystem::remove(failure);  // to be told from one that is written again
  write_bytes(failure, "an older reason\n");
  Subprocess retried(place, words_of(place.command("--seeds 0 --retry")));
  CHECK(retried.wait() == 0);
  CHECK(contains(retried.err(), "3 runs, 1 to do"));
  CHECK(read_bytes(failure) == reason);
}

TEST_CASE("sweep: a failed run that another process completes while --retry waits for its folder is kept") {
  Place place;
  REQUIRE(Subprocess(place, words_of(place.command("--seeds 0"))).wait() == 0);
  const std::string run = place / "out/baseline-0", log = read_bytes(run + "/metrics.jsonl");
  std::filesystem::rename(run + "/evaluation.json", place / "evaluation.json");
  write_bytes(run + "/failure.txt", "out of memory\n");
  std::optional<FolderLock> other(std::in_place, run);
  Subprocess retried(place, words_of(place.command("--seeds 0 --retry")));
  for (int i = 0; i < 3000 && !contains(retried.err(), "waiting up to"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::filesystem::rename(place / "evaluation.json", run + "/evaluation.json");
  std::filesystem::remove(run + "/failure.txt");
  other.reset();
  CHECK_MESSAGE(retried.wait() == 0, retried.err());
  CHECK_MESSAGE(contains(retried.err(), "waiting up to"), retried.err());
  CHECK(contains(retried.out(), "2 of 2 runs complete"));
  CHECK(read_bytes(run + "/metrics.jsonl") == log);
}

TEST_CASE("sweep: rows of an earlier table count as runs, whose folders are lost; others are counted and left out") {
  Place place;
  const std::string out = place / "out", earlier = place / "earlier-runs.csv";
  Subprocess first(place, words_of(place.command("--seeds 0")));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  const std::string csv = read_bytes(out + "/tiny-runs.csv"), table = read_bytes(out + "/tiny.csv"),
                    header = csv.substr(0, csv.find('\n') + 1);
  const std::size_t second = csv.find('\n', header.size()) + 1;
  const std::string baseline = csv.substr(header.size(), second - header.size()), sigmoid = csv.substr(second);
  write_bytes(earlier, csv);

  std::filesystem::remove_all(out);
  Subprocess all(place, words_of(place.command("--seeds 0 --earlier " + earlier)));
  REQUIRE_MESSAGE(all.wait() == 0, all.err());
  CHECK_MESSAGE(contains(all.err(), "earlier-runs.csv: 2 of 2 rows are runs of this study\n"), all.err());
  CHECK(contains(all.err(), "2 runs, 0 to do"));
  CHECK(contains(all.out(), "2 of 2 runs complete"));
  CHECK(contains(all.out(), "2 of 2 runs are rows of " + earlier));
  CHECK_FALSE(contains(all.out(), "1 of 1 run from " + earlier));  // which is said once
  CHECK_FALSE(std::filesystem::exists(out + "/baseline-0"));
  CHECK(read_bytes(out + "/tiny-runs.csv") == csv);  // it accumulates, to the digit
  const auto numbers = [](const std::string& csv) {
    std::string kept;
    for (std::size_t at = 0; at < csv.size(); at = csv.find('\n', at) + 1)
      kept += csv.substr(at, csv.rfind(',', csv.find('\n', at)) - at) + "\n";  // all but the remarks
    return kept;
  };
  CHECK(numbers(read_bytes(out + "/tiny.csv")) == numbers(table));

  // The first of several rows counts, a run folder has precedence, and rows of another study are ignored.
  std::string other = baseline;
  other.replace(other.rfind(",16,"), 4, ",32,");
  write_bytes(place / "more.csv", header + other + baseline);
  std::filesystem::remove_all(out);
  Subprocess half(place, words_of(place.command("--earlier " + place / "more.csv" + " --earlier " + earlier)));
  REQUIRE_MESSAGE(half.wait() == 0, half.err());
  CHECK(contains(half.err(),
                 "more.csv: 1 of 2 rows are runs of this study; 1 of 2 rows are of other settings, data or input"));
  CHECK(contains(half.err(), "4 runs, 2 to do"));
  CHECK(contains(half.out(), "1 of 2 runs from " + place / "more.csv"));
  CHECK(contains(half.out(), "1 of 2 runs from " + earlier));
  CHECK(contains(half.out(), "4 of 4 runs complete"));
  CHECK(contains(read_bytes(out + "/tiny-runs.csv"), baseline.substr(baseline.find(",true,"))));  // all but the label
  Subprocess own(place, words_of(place.command("--earlier " + place / "more.csv")));
  CHECK(own.wait() == 0);
  CHECK(contains(own.err(), "4 runs, 1 to do"));  // op_sigmoid_none-0 has no folder, and no row in this file

  Subprocess itself(place, words_of(place.command("--earlier " + out + "/tiny-runs.csv")));
  CHECK(itself.wait() == 2);
  CHECK(contains(itself.err(), "is an output of this sweep"));
  write_bytes(place / "more.csv", header + "x" + baseline + "y\n");
  Subprocess broken(place, words_of(place.command("--earlier " + place / "more.csv")));
  CHECK(broken.wait() == 3);
  CHECK_MESSAGE(contains(broken.err(), "more.csv line 3: expected "), broken.err());
}

TEST_CASE("sweep: a row that failed is a failed run, and is tried again only when asked") {
  const std::string study =
      kStudy + "[[runs]]\nablation = \"baseline\"\nweight-decay = 1000\nwarmup = 0\nclip = 0\nlearning-rate = 100\n";
  Place place(study);
  const std::string only = "--seeds 0 --only baseline-weight-decay-1000-warmup-0-clip-0-learning-rate-100 ",
                    earlier = place / "earlier.csv";
  Subprocess first(place, words_of(place.command(only)));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  std::filesystem::rename(place / "out/tiny-runs.csv", earlier);
  std::filesystem::remove_all(place / "out");
  Subprocess again(place, words_of(place.command(only + "--earlier " + earlier)));
  CHECK(again.wait() == 0);
  CHECK(contains(again.err(), ": 1 run, 0 to do"));
  CHECK(contains(again.out(), "seed 0: failed: "));
  CHECK(contains(again.out(), "0 of 1 runs complete"));
  CHECK(read_bytes(place / "out/tiny-runs.csv") == read_bytes(earlier));
  Subprocess retried(place, words_of(place.command(only + "--retry --earlier " + earlier)));
  CHECK(retried.wait() == 0);
  CHECK(contains(retried.err(), ": 1 run, 1 to do"));
}

TEST_CASE("sweep: a run of the same settings that train_<ablation> made counts as done, others are refused") {
  Place place;
  const std::string own = place / "out/baseline-0";
  std::filesystem::create_directories(place / "out");
  const std::string flags =
      " --task bigram-backcopy --layers 1 --heads 2 --width 16 --feed-forward 16 --context 32 --batch 2 --steps 40 "
      "--warmup 5 --eval-every 40 --eval-sequences 4 --threads 2 --seed 0 --run " +
      own;
  REQUIRE(Subprocess(place, words_of("train_baseline" + flags)).wait() == 0);
  const std::string before = read_bytes(own + "/metrics.jsonl");
  Subprocess sweep(place, words_of(place.command("--seeds 0")));
  CHECK_MESSAGE(sweep.wait() == 0, sweep.err());
  CHECK(contains(sweep.err(), "2 runs, 1 to do"));
  CHECK(contains(sweep.out(), "2 of 2 runs complete"));
  CHECK(read_bytes(own + "/metrics.jsonl") == before);
  // Its onset is that of a measurement every 40 steps, the study's of every 20.
  CHECK_MESSAGE(contains(sweep.err(), "the onsets of 1 run are left out: measured at other steps"), sweep.err());
  const std::string table = read_bytes(place / "out/tiny-runs.csv");
  for (const report::Run& run : report::read_results_csv(table, "tiny-runs.csv"))
    CHECK(run.evaluation->scalar.contains("onset_sink_1") == (run.name == "op_sigmoid_none-0"));
  Subprocess resumed(place, words_of("train_baseline" + flags + " --resume auto --dry-run"));
  CHECK(resumed.wait() == 0);
}

TEST_CASE("sweep: interventions are measured of complete runs, once, as eval_<ablation> does") {
  Place place("interventions = true\n" + kStudy);
  Subprocess first(place, words_of(place.command("--seeds 0")));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  CHECK(contains(first.err(), "baseline-0: interventions measured"));
  const std::string file = place / "out/op_sigmoid_none-0/interventions.json", written = read_bytes(file);
  Subprocess eval(place,
                  words_of("eval_op_sigmoid_none interventions " + place / "out/op_sigmoid_none-0/checkpoint.h5"));
  REQUIRE_MESSAGE(eval.wait() == 0, eval.err());
  CHECK(eval.out() == written);
  const report::Run run = report::read_run_folder(place / "out/op_sigmoid_none-0");
  for (const char* name : {"removed_1", "redistributed_1", "constant_1", "removed_5", "w8a8", "w4a16", "w4a4"})
    CHECK_MESSAGE(std::isfinite(run.evaluation->get(std::string("change_") + name)), name);
  CHECK(contains(read_bytes(place / "out/tiny.md"), "loss without a_1 v_1"));
  CHECK(contains(read_bytes(place / "out/tiny-runs.csv"), ",change_removed_1,"));
  Subprocess again(place, words_of(place.command("--seeds 0")));
  CHECK(again.wait() == 0);
  CHECK_FALSE(contains(again.err(), "interventions"));
  // One that cannot be measured is not passed over in silence.
  std::filesystem::remove(file);
  write_bytes(place / "out/op_sigmoid_none-0/checkpoint.h5", "no checkpoint");
  Subprocess damaged(place, words_of(place.command("--seeds 0")));
  CHECK(damaged.wait() != 0);
  CHECK(contains(damaged.err(), "checkpoint.h5"));
  // Of another step they are not the run's.
  std::string older = written;
  older.replace(older.find("\"step\": 40"), 10, "\"step\": 39");
  write_bytes(file, older);
  CHECK_FALSE(report::read_run_folder(place / "out/op_sigmoid_none-0").evaluation->scalar.contains("change_removed_1"));
  write_bytes(file, "{\"interventions\": [1]}");
  CHECK_THROWS_WITH_AS(report::read_run_folder(place / "out/op_sigmoid_none-0"),
                       doctest::Contains("interventions.json"), Error);
}

TEST_CASE("sweep: a measurement that is not the run's own never enters its study") {
  Place place("interventions = true\n" + kStudy);
  Subprocess first(place, words_of(place.command()));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  const std::string run = place / "out/op_sigmoid_none-0", file = run + "/evaluation.json", own = read_bytes(file),
                    table = place / "out/tiny.md", markdown = read_bytes(table);
  const auto collect = [&](int code, const std::string& clue) {
    Subprocess program(place, words_of(place.command("--collect")));
    CHECK_MESSAGE(program.wait() == code, clue);
    CHECK_MESSAGE(contains(program.err(), clue), program.err());
    CHECK(read_bytes(table) == markdown);
  };
  const auto measure = [&](const std::string& options) {
    Subprocess program(place, words_of("eval_op_sigmoid_none sink " + run + "/checkpoint.h5 " + options));
    const int code = program.wait();
    if (code == 2) CHECK_MESSAGE(contains(program.err(), "--force replaces it"), program.err());
    return code;
  };
  CHECK(measure("--input random --out " + file) == 2);
  CHECK(read_bytes(file) == own);
  for (const std::string options : {"--input random", "--sequences 2", "--context 16", "--precision bf16"}) {
    if (!test::in_turn()) continue;
    CAPTURE(options);
    REQUIRE(measure(options + " --force --out " + file) == 0);
    collect(3, file + " is not what this run measured (input `");
  }
  for (const char* other : {"op_sigmoid_none-1", "baseline-0"}) {
    CAPTURE(other);
    write_bytes(file, read_bytes(place / ("out/" + std::string(other) + "/evaluation.json")));
    collect(3, " instead of ");
  }
  std::filesystem::remove(file);
  std::filesystem::remove(table);
  Subprocess again(place, words_of(place.command()));
  CHECK_MESSAGE(again.wait() == 0, again.err());
  CHECK(read_bytes(table) == markdown);
  // Interventions of another run are not the run's, and are measured again.
  write_bytes(run + "/interventions.json", read_bytes(place / "out/op_sigmoid_none-1/interventions.json"));
  Subprocess lacking(place, words_of(place.command("--collect")));
  CHECK(lacking.wait() == 3);
  CHECK(contains(lacking.err(), "complete, but its interventions are not measured"));
}

TEST_CASE("sweep: a pipe or a device in its folders is refused, and not waited for") {
  Place place;
  Subprocess first(place, words_of(place.command("--seeds 0")));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  for (const char* name : {"op_sigmoid_none-0/config.toml", "op_sigmoid_none-0/evaluation.json",
                           "op_sigmoid_none-0/metrics.jsonl", "op_sigmoid_none-0/failure.txt", "tiny-runs.csv"})
    for (const bool device : {false, true}) {
      CAPTURE(name);
      const std::string special = place / ("out/" + std::string(name)), kept = place / "kept";
      const bool had = std::filesystem::exists(special);
      if (had) std::filesystem::rename(special, kept);
      if (device)
        std::filesystem::create_symlink("/dev/zero", special);
      else
        REQUIRE(::mkfifo(special.c_str(), 0600) == 0);
      Subprocess again(place, words_of(place.command("--seeds 0")));
      CHECK(again.wait_for(20) == 3);
      CHECK_MESSAGE(contains(again.err(), special + " is not a regular file"), again.err());
      std::filesystem::remove(special);
      if (had) std::filesystem::rename(kept, special);
    }
  Subprocess last(place, words_of(place.command("--seeds 0")));
  CHECK_MESSAGE(last.wait() == 0, last.err());
}

TEST_CASE("sweep: --dry-run trains nothing and prints the plan; studies are listed and found by name") {
  Place place;
  Subprocess dry(place, words_of(place.command("--dry-run")));
  REQUIRE_MESSAGE(dry.wait() == 0, dry.err());
  CHECK(contains(dry.out(), "op_sigmoid_none      40"));
  CHECK(contains(dry.out(), "4 runs, 4 to do: about "));
  CHECK(entries(place.path) == 3);  // the study, stdout, stderr
  Subprocess no_data = shell(place, std::string("cd ") + SINK_SOURCE_DIR + " && sweep norm --data none --dry-run");
  CHECK(no_data.wait() == 3);
  CHECK_MESSAGE(contains(no_data.err(), "error: none of the runs can begin here"), no_data.err());
  Subprocess list = shell(place, std::string("cd ") + SINK_SOURCE_DIR + " && sweep");
  CHECK(list.wait() == 0);
  CHECK(contains(list.out(), "train/studies/operations.toml\n  Does the sink come from"));
  Subprocess by_name = shell(place, std::string("cd ") + SINK_SOURCE_DIR + " && sweep weight_deca");
  CHECK(by_name.wait() == 2);
  CHECK_MESSAGE(contains(by_name.err(), "there is no study weight_deca;"), by_name.err());
  CHECK_MESSAGE(contains(by_name.err(), "; did you mean weight_decay?\n"), by_name.err());
  Subprocess elsewhere = shell(place, "cd / && sweep weight_decay --set task=bigram-backcopy --list");
  CHECK(elsewhere.wait() == 0);
  CHECK(contains(elsewhere.out(), "0,baseline,baseline,1,,runs/weight_decay/baseline-1\n"));
}

TEST_CASE("sweep: requests that cannot be run are refused before anything is written") {
  Place place;
  for (const char* wrong :
       {"--only bias_q", "--set learning=1", "--set learning-rate", "--set heads=3", "--workers 0", "--set steps=0",
        "--set seed=1", "--size tpu", "--seeds 1,1", "--seeds 1,2,01", "--seeds 1 --seeds 1"}) {
    CAPTURE(wrong);
    Subprocess run(place, words_of(place.command(wrong)));
    CHECK(run.wait() == 2);
    CHECK(contains(run.err(), "seed 1 is given twice") == contains(wrong, "--seeds"));
    CHECK_FALSE(std::filesystem::exists(place / "out"));
  }
}

TEST_CASE("sweep: runs that start from others wait for them, and report the start's measures on the same data") {
  Place place(kStudy + "[[runs]]\nfrom = [\"op_sigmoid_none\", \"baseline\"]\nsteps = 10\nlearning-rate = 0.001\n");
  Subprocess first(place, words_of(place.command("--seeds 0,1")));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  CHECK(contains(first.err(), "tiny: 8 runs, 8 to do"));
  CHECK(contains(first.out(), "8 of 8 runs complete"));
  CHECK_MESSAGE(contains(first.out(), "before: Sink_1 %"), first.out());
  CHECK(contains(first.out(), "evaluation-before.json of each run folder"));
  for (const char* run : {"baseline", "op_sigmoid_none"}) {
    CAPTURE(run);
    const std::string started = place / ("out/" + std::string(run) + "-1"),
                      tuned = place / ("out/" + std::string(run) + "-tuned-1");
    const report::Run end = report::read_run_folder(started);
    const report::Run before = report::read_measurements(tuned + "/evaluation-before.json").front();
    CHECK(before.evaluation->get("val_loss") == end.evaluation->get("val_loss"));  // the same task measures the same
    CHECK(report::read_run_folder(tuned).step == 10);
  }
  Subprocess again(place, words_of(place.command("--seeds 0,1")));
  CHECK(again.wait() == 0);
  CHECK(contains(again.err(), "8 runs, 0 to do"));
  CHECK(again.out() == first.out());
  // A lost run is trained again from its start, also with another spelling of the folder's name.
  const std::string before = numbers_of(place / "out/baseline-tuned-0");
  std::filesystem::remove_all(place / "out/baseline-tuned-0");
  Subprocess third(place, words_of("sweep " + place / "tiny.toml" + " --workers 2 --threads 1 --seeds 0,1 --out " +
                                   place / "out/../out"));
  CHECK(third.wait() == 0);
  CHECK_MESSAGE(contains(third.err(), "8 runs, 1 to do"), third.err());
  CHECK(numbers_of(place / "out/baseline-tuned-0") == before);
  // A row of an earlier table replaces it while the start has the same parameters.
  const std::string earlier = place / "earlier.csv", by_row = place.command("--seeds 0,1 --earlier " + earlier);
  std::filesystem::rename(place / "out/tiny-runs.csv", earlier);
  std::filesystem::rename(place / "out/baseline-tuned-0", place / "kept");
  Subprocess same_start(place, words_of(by_row));
  CHECK(same_start.wait() == 0);
  CHECK_MESSAGE(contains(same_start.err(), "8 runs, 0 to do"), same_start.err());
  std::filesystem::rename(place / "kept", place / "out/baseline-tuned-0");
  // A start that is another one now, here that of seed 1, is not the start of the run that is there.
  std::filesystem::copy_file(place / "out/baseline-1/checkpoint.h5", place / "out/baseline-0/checkpoint.h5",
                             std::filesystem::copy_options::overwrite_existing);
  Subprocess other(place, words_of(place.command("--seeds 0,1")));
  CHECK(other.wait() == 3);
  CHECK_MESSAGE(contains(other.err(), "out/baseline-tuned-0 started from other parameters than those that "),
                other.err());
  std::filesystem::remove_all(place / "out/baseline-tuned-0");
  Subprocess tuned(place, words_of(by_row));
  CHECK_MESSAGE(tuned.wait() == 0, tuned.err());
  CHECK_MESSAGE(contains(tuned.err(), "7 of 8 rows are runs of this study; 1 of 8 rows started from other parameters"),
                tuned.err());
  CHECK(contains(tuned.err(), "8 runs, 1 to do"));
}

TEST_CASE(
    "sweep: a complete run counts where its start is a row of an earlier table; one to train has no start there") {
  Place place(kStudy + "[[runs]]\nfrom = \"baseline\"\nsteps = 10\nlearning-rate = 0.001\n");
  const std::string earlier = place / "earlier.csv", by_row = place.command("--seeds 0 --earlier " + earlier);
  Subprocess first(place, words_of(place.command("--seeds 0")));
  REQUIRE_MESSAGE(first.wait() == 0, first.err());
  std::filesystem::rename(place / "out/tiny-runs.csv", earlier);
  std::filesystem::remove_all(place / "out/baseline-0");
  Subprocess complete(place, words_of(by_row));
  CHECK_MESSAGE(complete.wait() == 0, complete.err());
  CHECK_MESSAGE(contains(complete.out(), "3 of 3 runs complete"), complete.out());
  CHECK_FALSE(contains(complete.out(), "not begun"));
  std::string rows = read_bytes(earlier);
  rows.erase(rows.rfind('\n', rows.size() - 2) + 1);  // without the tuned run
  REQUIRE_FALSE(contains(rows, "baseline-tuned-0"));
  std::filesystem::remove(earlier);
  write_bytes(earlier, rows);
  std::filesystem::remove_all(place / "out/baseline-tuned-0");
  Subprocess without_start(place, words_of(by_row));
  CHECK(without_start.wait() == 3);
  CHECK_MESSAGE(contains(without_start.err(), "out/baseline-0, which is only a row of " + earlier),
                without_start.err());
}

TEST_CASE("sweep: a run whose start failed is not begun, and its row has the reason") {
  Place place(
      kStudy +
      "[[runs]]\nablation = \"baseline\"\nweight-decay = 1000\nwarmup = 0\nclip = 0\nlearning-rate = 100\n"
      "[[runs]]\nfrom = \"baseline-weight-decay-1000-warmup-0-clip-0-learning-rate-100\"\nlearning-rate = 0.1\n");
  Subprocess first(place, words_of(place.command("--seeds 0")));
  CHECK_MESSAGE(first.wait() == 0, first.err());
  CHECK(contains(first.err(), "-tuned-0: not begun: the run that it starts from is not complete"));
  CHECK(contains(first.out(), "2 of 4 runs complete"));
  CHECK_MESSAGE(contains(first.out(), "seed 0: not begun: " + place / "out/baseline-weight"), first.out());
  CHECK(contains(first.out(), ", from which it starts, is not complete (failed: "));
}
