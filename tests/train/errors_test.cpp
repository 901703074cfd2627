// Bad input gets one clear line on stderr, a stable exit code and nothing half-written.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tests/support/subprocess.h"

using namespace sink;

namespace {

std::vector<std::string> small_run(const std::string& run, std::vector<std::string> more = {}) {
  std::vector<std::string> words = words_of(
      "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 2 --steps "
      "4 "
      "--warmup 0 --eval-sequences 2 --run " +
      run);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// One line `<program>: error: ...` that mentions `clue`, and the exit code.
void check_error(const Subprocess& run, int code, const std::string& clue) {
  CHECK(run.wait() == code);
  std::string message = run.err();
  CHECK_MESSAGE(message.find(": error: ") != std::string::npos, message);
  CHECK_MESSAGE(message.find(clue) != std::string::npos, message);
  CHECK_MESSAGE(std::count(message.begin(), message.end(), '\n') == 1, message);
}

}  // namespace

TEST_CASE("errors: wrong flags and values leave with 2") {
  TemporaryFolder folder;
  std::string run = folder / "run";
  check_error({folder, small_run(run, {"--learning-rat", "1"})}, 2, "--learning-rate");
  check_error({folder, small_run(run, {"--heads", "three"})}, 2, "--heads");
  check_error({folder, small_run(run, {"--heads", "3"})}, 2, "--d-model");
  check_error({folder, small_run(run, {"--precision", "f16"})}, 2, "bf16");
  check_error({folder, small_run(run, {"--precision", "tf32"})}, 2, "needs --device cuda");
  check_error({folder, {"train_pos_learnable", "--task", "bigram-backcopy"}}, 2, "--run");
  CHECK_FALSE(std::filesystem::exists(run));
}

TEST_CASE("errors: data that is not there leaves with 3") {
  TemporaryFolder folder;
  check_error({folder, {"train_pos_learnable", "--data", folder / "none", "--run", folder / "run"}}, 3, "prepare");
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_CASE("errors: a run folder that exists is never overwritten by accident") {
  TemporaryFolder folder;
  std::string run = folder / "run";
  REQUIRE(Subprocess(folder, small_run(run)).wait() == 0);
  std::string before = read_bytes(run + "/metrics.jsonl");
  check_error({folder, small_run(run)}, 2, "--force");
  CHECK(read_bytes(run + "/metrics.jsonl") == before);
  CHECK(Subprocess(folder, small_run(run, {"--force"})).wait() == 0);
}

TEST_CASE("errors: a folder that cannot be made leaves with 8") {
  TemporaryFolder folder;
  write_bytes(folder / "file", "in the way");
  check_error({folder, small_run(folder / "file/run")}, 8, "file/run");
}

TEST_CASE("errors: a damaged checkpoint leaves with 4, for training and for evaluation") {
  TemporaryFolder folder;
  std::string run = folder / "run", checkpoint = run + "/checkpoint.h5";
  REQUIRE(Subprocess(folder, small_run(run)).wait() == 0);
  std::string whole = read_bytes(checkpoint);
  auto replace = [&](const std::string& bytes) { write_bytes(checkpoint, bytes); };
  auto check_both = [&] {
    check_error({folder, small_run(run, {"--resume", "auto", "--steps", "6"})}, 4, checkpoint);
    check_error({folder, {"eval_pos_learnable", "sink", checkpoint}}, 4, checkpoint);
  };
  SUBCASE("truncated") { replace(whole.substr(0, whole.size() / 2)); }
  SUBCASE("one bit flipped") {
    whole[whole.size() / 2] ^= 1;
    replace(whole);
  }
  SUBCASE("foreign") { replace("\x89HDF\r\n\x1a\n and then nothing"); }
  SUBCASE("empty") { replace(""); }
  check_both();
}

TEST_CASE("errors: evaluation refuses a checkpoint of another policy and names the program that fits") {
  TemporaryFolder folder;
  REQUIRE(Subprocess(folder, small_run(folder / "run")).wait() == 0);
  check_error({folder, {"eval_op_sigmoid_none", "sink", folder / "run/checkpoint.h5"}}, 4, "eval_pos_learnable");
}

TEST_CASE("evaluation: eval_<ablation> sink repeats the numbers that training wrote") {
  TemporaryFolder folder;
  REQUIRE(Subprocess(folder, small_run(folder / "run")).wait() == 0);
  Subprocess eval(folder,
                  {"eval_pos_learnable", "sink", folder / "run/checkpoint.h5", "--sequences", "2", "--batch", "2"});
  CHECK(eval.wait() == 0);
  auto number = [](const std::string& json, const std::string& key) {
    std::size_t at = json.find("\"" + key + "\": ");
    return json.substr(at, json.find_first_of(",\n", at) - at);
  };
  std::string trained = read_bytes(folder / "run/evaluation.json"), evaluated = eval.out();
  for (const char* key : {"val_loss", "alpha_1", "alpha_1_max", "row_mass", "first_value_norm_ratio"})
    CHECK(number(trained, key) == number(evaluated, key));
}

TEST_CASE("errors: names with line ends and escape sequences stay one line without them") {
  TemporaryFolder folder;
  std::string name = folder / "no\nsuch\x1b[31m\x1b]0;title\x07";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"eval_pos_learnable", "sink", name},
                                             {"prepare", "--text", name, "--out", folder / "data"},
                                             {"report", "--out", folder / "r.html", name}}) {
    Subprocess program(folder, words);
    check_error(program, 3, "no\\nsuch\\x1b[31m\\x1b]0;title\\x07");
    CHECK_FALSE(contains(program.err(), "\x1b"));
  }
}

TEST_CASE("errors: a byte order mark before the settings is skipped") {
  TemporaryFolder folder;
  write_bytes(folder / "a.toml", "\xEF\xBB\xBFwidth = 16\nheads = 1\n");
  Subprocess run(folder, {"train_pos_learnable", "--config", folder / "a.toml", "--print-config"});
  CHECK(run.wait() == 0);
  CHECK(contains(run.out(), "width = 16\n"));
}

TEST_CASE("errors: a link that leads to itself is bad input") {
  TemporaryFolder folder;
  const std::string loop = folder / "loop";
  std::filesystem::create_symlink("loop", loop);
  check_error({folder, {"eval_pos_learnable", "sink", loop}}, 3, "loop: Too many levels of symbolic links");
  check_error({folder, small_run(folder / "run", {"--initial", loop})}, 3, "loop: Too many levels of symbolic links");
  check_error({folder, {"train_pos_learnable", "--data", loop, "--run", folder / "run"}}, 3, "symbolic links");
  check_error({folder, small_run(loop)}, 3, "cannot use " + loop + ": Too many levels of symbolic links");
}

TEST_CASE("errors: what may not be read is bad input") {
  TemporaryFolder folder;
  // Root may read everything, unless it gives up these capabilities.
  const auto restricted = [](std::vector<std::string> words) {
    if (::geteuid() != 0) return words;
    words[0] = program_path(words[0]);
    words.insert(words.begin(), {"/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"});
    return words;
  };
  std::string locked = folder / "locked";
  std::filesystem::create_directories(locked + "/run");
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"report", "--out", folder / "r.html", locked},
                                             {"report", "--out", folder / "r.html", locked + "/run"},
                                             {"eval_pos_learnable", "sink", locked + "/checkpoint.h5"}})
    check_error({folder, restricted(words)}, 3, "Permission denied");
  std::filesystem::permissions(locked, std::filesystem::perms::owner_all);
}

#if !defined(__SANITIZE_ADDRESS__)  // whose shadow takes terabytes of addresses
TEST_CASE("errors: threads that the system does not give are a sentence") {
  TemporaryFolder folder;
  // 4096 stacks of a gigabyte are more than 60 GB of addresses.
  ResourceLimit stacks(RLIMIT_STACK, std::size_t{1} << 30), addresses(RLIMIT_AS, std::size_t{60} << 30);
  check_error({folder, small_run(folder / "run", {"--threads", "4096"})}, 2, "cannot start 4096 threads");
}
#endif

TEST_CASE("threads: OMP_NUM_THREADS says how many, and --threads beats it") {
  TemporaryFolder folder;
  ::setenv("OMP_NUM_THREADS", "3", 1);
  Subprocess by_environment(folder, small_run(folder / "run", {"--dry-run"}));
  CHECK(by_environment.wait() == 0);
  CHECK(contains(by_environment.out(), "on 3 threads"));
  Subprocess by_flag(folder, small_run(folder / "run", {"--dry-run", "--threads", "2"}));
  CHECK(by_flag.wait() == 0);
  CHECK(contains(by_flag.out(), "on 2 threads"));
  ::unsetenv("OMP_NUM_THREADS");
}

TEST_CASE("dry run: a step that would take long is estimated from a shorter one, and huge numbers stay positive") {
  TemporaryFolder folder;
  auto start = std::chrono::steady_clock::now();
  Subprocess run(folder, words_of("train_pos_learnable --task bigram-backcopy --dry-run --context 65536 --batch 65536 "
                                  "--accumulate 1000000 --steps 1000000000"));
  CHECK(run.wait() == 0);
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  CHECK(passed.count() < 60);  // about a second; a whole micro-batch would take hours
  CHECK(contains(run.out(), "4.295e+24 tokens in all"));
  CHECK(contains(run.out(), "estimated"));
  CHECK(contains(run.out(), "over 30 years"));
  CHECK_FALSE(contains(run.out(), " -"));
}

TEST_CASE("dry run: prints parameters, memory and FLOPs, and writes nothing") {
  TemporaryFolder folder;
  Subprocess run(folder, small_run(folder / "run", {"--dry-run"}));
  CHECK(run.wait() == 0);
  for (const char* word : {"parameters", "memory", "FLOPs", "blocks.0.attention.qkv.weight"})
    CHECK_MESSAGE(run.out().find(word) != std::string::npos, word);
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
}
