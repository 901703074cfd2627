// Existing files at the path of a result: special files are written to, links followed, modes kept, other kinds
// refused.
#include "engine/io/output_kind.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "engine/io/file.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTraining =
    "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 2 --warmup 0 "
    "--eval-sequences 2 --threads 1 --steps 2 --run run";

mode_t mode_of(const std::string& path) {
  struct stat about;
  REQUIRE(::lstat(path.c_str(), &about) == 0);
  return about.st_mode;
}

// A node of our own, so that no test can hurt the machine's. False where this process may not make one.
bool make_device(const std::string& path, mode_t kind, unsigned minor) {
  if (::mknod(path.c_str(), kind | 0666, ::makedev(kind == S_IFCHR ? 1 : 7, minor)) == 0) return true;
  MESSAGE("no device nodes here; part of the test left out");
  return false;
}

}  // namespace

TEST_CASE("output: a link stays and its target is replaced whole, beside itself") {
  TemporaryFolder folder;
  fs::create_directory(folder / "far");
  write_bytes(folder / "far/result", "first");
  fs::create_symlink("far/result", folder / "link");
  fs::create_symlink(folder / "link", folder / "link to link");
  write_file_atomically(folder / "link to link", "second");
  CHECK(read_bytes(folder / "far/result") == "second");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_symlink(folder / "link to link"));
  fs::create_symlink("far/new", folder / "dangling");
  write_file_atomically(folder / "dangling", "made");
  CHECK(read_bytes(folder / "far/new") == "made");
  CHECK(fs::is_symlink(folder / "dangling"));
  fs::create_symlink("round", folder / "round");
  CHECK(exit_of([&] { write_file_atomically(folder / "round", "x"); }) == Exit::io);
  CHECK(entries(folder / "far") == 2);
}

TEST_CASE("output: a file keeps its permissions") {
  TemporaryFolder folder;
  for (mode_t mode : {0600u, 0640u, 0755u}) {
    write_bytes(folder / "result", "first");
    ::chmod((folder / "result").c_str(), mode);
    write_file_atomically(folder / "result", "second");
    CHECK(read_bytes(folder / "result") == "second");
    CHECK((mode_of(folder / "result") & 07777) == mode);
  }
}

TEST_CASE("output: devices are written to and stay devices; a disk is refused") {
  TemporaryFolder folder;
  if (make_device(folder / "null", S_IFCHR, 3)) {
    write_file_atomically(folder / "null", "gone");
    CHECK(S_ISCHR(mode_of(folder / "null")));
  }
  if (make_device(folder / "full", S_IFCHR, 7)) {
    CHECK(exit_of([&] { write_file_atomically(folder / "full", "x"); }) == Exit::io);
    CHECK(S_ISCHR(mode_of(folder / "full")));
  }
  if (make_device(folder / "disk", S_IFBLK, 250)) {
    CHECK(exit_of([&] { write_file_atomically(folder / "disk", "x"); }) == Exit::io);
    CHECK(S_ISBLK(mode_of(folder / "disk")));
  }
}

TEST_CASE("output: logits take the place of older logits, where these are many too") {
  TemporaryFolder folder;
  std::string tokens;
  for (int n = 0; n < 40; ++n) tokens += "1 2 3 4 5 6 7 8 9 10\n";
  write_bytes(folder / "tokens.txt", tokens);
  const std::string init = "train_pos_learnable init --layers 3 --heads 4 --width 32 --feed-forward 8 --context 12 ";
  REQUIRE(shell(folder, init + "--vocabulary 20 --out model.h5").wait() == 0);
  for (int time = 0; time < 2; ++time)
    CHECK(
        shell(folder, "eval_pos_learnable logits --checkpoint model.h5 --tokens tokens.txt --out numbers.h5").wait() ==
        0);
  CHECK(fs::file_size(folder / "numbers.h5") > 200000);
  CHECK(shell(folder, "eval_pos_learnable logits --checkpoint model.h5 --tokens tokens.txt --out model.h5").wait() ==
        2);
}

TEST_CASE("output: every --out writes into pipes, devices and /dev/stdout") {
  TemporaryFolder folder;
  REQUIRE(shell(folder, kTraining).wait() == 0);
  write_bytes(folder / "tokens.txt", "1 2 3\n");
  const char* commands[] = {
      "eval_pos_learnable sink run/checkpoint.h5 --out ",
      "eval_pos_learnable logits --checkpoint run/checkpoint.h5 --tokens tokens.txt --out ",
      "train_pos_learnable init --vocabulary 20 --out ",
      "report run --out ",
  };
  for (const std::string command : commands) {
    CAPTURE(command);
    fs::remove(folder / "file");
    REQUIRE(shell(folder, command + "file > /dev/null").wait() == 0);
    std::string expected = read_bytes(folder / "file").substr(0, 100);
    fs::remove(folder / "pipe");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK(shell(folder, "cat pipe > got & " + command + "pipe > /dev/null; code=$?; wait; exit $code").wait() == 0);
    CHECK(read_bytes(folder / "got").substr(0, 100) == expected);
    CHECK(S_ISFIFO(mode_of(folder / "pipe")));

    CHECK(shell(folder, "echo before > log; " + command + "/dev/stdout >> log").wait() == 0);
    CHECK(read_bytes(folder / "log").substr(0, 107) == "before\n" + expected);
    fs::remove(folder / "null");
    if (!make_device(folder / "null", S_IFCHR, 3)) continue;
    CHECK(shell(folder, command + "null").wait() == 0);
    CHECK(S_ISCHR(mode_of(folder / "null")));
  }
}

TEST_CASE("output: a file of another kind is refused before the work, unless forced") {
  TemporaryFolder folder;
  REQUIRE(shell(folder, kTraining).wait() == 0);
  write_bytes(folder / "tokens.txt", "1 2 3\n");
  std::string text;
  for (int i = 0; i < 200; ++i) text += "Line " + std::to_string(i) + ".\n";
  write_bytes(folder / "t.txt", text);
  const std::string swept =
      "sweep " SINK_SOURCE_DIR
      "/train/studies/bigram_backcopy.toml --only baseline --seeds 0 --set steps=1 --set eval-sequences=2 --out swept "
      "--workers 1 --threads 1";
  struct Case {
    std::string command, out;
  } cases[] = {
      {"eval_pos_learnable sink run/checkpoint.h5 --out out", "out"},
      {"eval_pos_learnable logits --checkpoint run/checkpoint.h5 --tokens tokens.txt --out out", "out"},
      {"train_pos_learnable init --vocabulary 20 --out out", "out"},
      {"report run --out out", "out"},
      {"report run --out r.html --csv out", "out"},
      {"prepare --text t.txt --vocab 300 --out data", "data/tokens.h5"},
      {"prepare --text t.txt --vocab 300 --out data", "data/tokenizer.json"},
      {swept, "swept/bigram_backcopy.csv"},
      {swept, "swept/bigram_backcopy-runs.csv"},
      {swept, "swept/bigram_backcopy.md"},
  };
  std::string trained = read_bytes(folder / "run/checkpoint.h5");
  for (const Case& one : cases) {
    CAPTURE(one.command);
    fs::create_directories((folder / one.out).substr(0, (folder / one.out).rfind('/')));
    for (const std::string& other : {std::string("a thesis"), trained, std::string("{\"version\": \"1.0\"}")}) {
      if (!test::in_turn() && other != "{\"version\": \"1.0\"}") continue;
      write_bytes(folder / one.out, other);
      Subprocess refused = shell(folder, one.command);
      CHECK(refused.wait() == 2);
      CHECK_MESSAGE(contains(refused.err(), one.out + " already exists"), refused.err());
      CHECK(read_bytes(folder / one.out) == other);
    }
    CHECK(shell(folder, one.command + " --force").wait() == 0);
    CHECK(read_bytes(folder / one.out) != "{\"version\": \"1.0\"}");
    const bool is_data = one.out.starts_with("data");               // on which runs depend
    CHECK(shell(folder, one.command).wait() == (is_data ? 2 : 0));  // and its own kind is replaced as ever
    write_bytes(folder / one.out, "");
    if (!is_data) CHECK(shell(folder, one.command).wait() == 0);
    fs::remove_all(folder / "data");
  }
  CHECK(read_bytes(folder / "run/checkpoint.h5") == trained);
}

TEST_CASE("output: two flags that name one file are refused, and a device may be named twice") {
  TemporaryFolder folder;
  fs::create_symlink(".", folder / "here");
  const FlagPath out{"--out", folder / "same"};
  std::string message;
  CHECK(exit_of([&] { require_two_files(out, {"--picture", folder / "here/./same"}); }, &message) == Exit::usage);
  CHECK(contains(message, "--out and --picture both write " + folder / "here/./same"));
  CHECK_NOTHROW(require_two_files(out, {"--picture", folder / "other"}));
  CHECK_NOTHROW(require_two_files({"--out", ""}, {"--picture", ""}));
  CHECK_NOTHROW(require_two_files({"--out", "/dev/null"}, {"--picture", "/dev/null"}));

  write_bytes(folder / "tokens.txt", "1 2 3 4 5\n");
  REQUIRE(
      shell(folder, "train_pos_learnable init --vocabulary 20 --layers 1 --heads 1 --width 16 --context 16 --out m.h5")
          .wait() == 0);
  for (const char* line : {"lens m.h5 --tokens tokens.txt --picture a --out a",
                           "interventions m.h5 --tokens tokens.txt --each-head zero --picture a --out a",
                           "quantise m.h5 --tokens tokens.txt --each-token a --out a"}) {
    Subprocess refused = shell(folder, std::string("eval_pos_learnable ") + line);
    CHECK_MESSAGE(refused.wait() == 2, line);
    CHECK_MESSAGE(contains(refused.err(), "both write a"), refused.err());
  }
}
