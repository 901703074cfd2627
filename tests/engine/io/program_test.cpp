// How every program leaves: exit codes of errors, output that could not be written, readers that left, descriptors that
// were closed, file sizes that are limited.
#include "engine/io/program.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "engine/io/processor.h"
#include "engine/io/utf8.h"
#include "tests/support/check_command.h"
#include "tests/support/in_child.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

constexpr const char* kTraining =
    "train_pos_learnable --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 2 --warmup 0 "
    "--eval-sequences 2 --threads 1 --log-every 1 ";

std::string some_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Line " + std::to_string(i * i) + " of some text.\n";
  return text;
}

long lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("program: an error is one line and its code") {
  std::string said;
  auto code_of = [&](auto throwing) {
    return in_child([&] { return run_program("train_x", [&]() -> int { throw throwing; }); }, &said);
  };
  CHECK(code_of(Error("first\nsecond", Exit::diverged)) == 5);
  CHECK(said == "train_x: error: first\\nsecond\n");
  CHECK(code_of(std::bad_alloc()) == 6);
  CHECK(said.find("train_x: error: out of memory") == 0);
  CHECK(code_of(OutOfMemory("no memory for x")) == 6);
  CHECK(said == "train_x: error: no memory for x. A smaller batch, context or model needs less\n");
  CHECK(code_of(std::runtime_error("odd")) == 1);
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "\u20ac";
  for (const char* before : {"", "x", "xx"}) {
    CHECK(code_of(Error(before + text + "; remove it", Exit::bad_input)) == 3);
    CHECK(said.size() < 10000);
    CHECK(said.starts_with(std::string("train_x: error: ") + before + "\u20ac"));
    CHECK(said.ends_with("\u20ac; remove it\n"));
    CHECK(utf8_valid_prefix(said) == said.size());
  }
  auto failed = [](std::errc why) {
    return std::filesystem::filesystem_error("status", "a/b", std::make_error_code(why));
  };
  CHECK(code_of(failed(std::errc::too_many_symbolic_link_levels)) == 3);
  CHECK(said == "train_x: error: cannot use a/b: Too many levels of symbolic links; give another path\n");
  CHECK(code_of(failed(std::errc::filename_too_long)) == 3);
  CHECK(code_of(failed(std::errc::io_error)) == 8);
  CHECK(code_of(failed(std::errc::too_many_files_open)) == 6);
  CHECK(code_of(std::filesystem::filesystem_error("current_path", std::make_error_code(std::errc::io_error))) == 8);
  CHECK(said == "train_x: error: cannot use a file or folder: Input/output error\n");
  CHECK(in_child([] { return run_program("train_x", [] { return 143; }); }) == 143);
}

TEST_CASE("program: output that a full disk cuts short leaves with 8 and says so") {
  TemporaryFolder folder;
  REQUIRE(shell(folder, kTraining + std::string("--steps 2 --run run")).wait() == 0);
  write_bytes(folder / "t.txt", some_text());
  const char* commands[] = {
      "train_pos_learnable --help",
      "train_pos_learnable --version",
      "train_pos_learnable --run r --print-config",
      "eval_pos_learnable --help",
      "eval_pos_learnable --version",
      "eval_pos_learnable sink run/checkpoint.h5",
      "prepare --help",
      "prepare --text t.txt --out data --force",
      "report --help",
      "report --out r.html run",
      "ablations --study",
      "ablations baseline",
      "ablations --help",
      "sweep --help",
      "train_pos_learnable init --help",
      "ablations --csv",
  };
  for (const char* command : commands) {
    CAPTURE(command);
    Subprocess program = shell(folder, command + std::string(" > /dev/full"));
    CHECK(program.wait() == 8);
    CHECK_MESSAGE(contains(program.err(), "error: the output (stdout) is cut short: "), program.err());
    Subprocess closed = shell(folder, command + std::string(" >&-"));
    CHECK(closed.wait() == 8);
    CHECK_MESSAGE(contains(closed.err(), "Bad file descriptor"), closed.err());
  }
}

TEST_CASE("program: a reader that leaves ends a listing as SIGPIPE would, without a word") {
  TemporaryFolder folder;
  for (const char* command : {"ablations --study --csv", "ablations --help"}) {
    CAPTURE(command);
    std::string late = "sleep 0.3; ";
    late += command;
    Subprocess program = shell(folder, "( " + late + "; echo $? > code) | true");
    CHECK(program.wait() == 0);
    for (int i = 0; i < 200 && read_bytes(folder / "code").empty(); ++i) usleep(50000);
    CHECK(read_bytes(folder / "code") == "141\n");
    CHECK(program.err() == "");
    std::filesystem::remove(folder / "code");
  }
}

TEST_CASE("program: training goes on when nobody reads what it says") {
  TemporaryFolder folder;
  std::string train = kTraining + std::string("--steps 40 --run run");
  SUBCASE("a reader that left") {
    CHECK(shell(folder, "( " + train + "; echo $? > code) 2>&1 | head -1").wait() == 0);
    for (int i = 0; i < 200 && read_bytes(folder / "code").empty(); ++i) usleep(50000);
    CHECK(read_bytes(folder / "code") == "0\n");
  }
  SUBCASE("a full disk under the log") { CHECK(shell(folder, train + " 2> /dev/full").wait() == 0); }
  SUBCASE("stderr closed") { CHECK(shell(folder, train + " 2>&-").wait() == 0); }
  // Its result, the name of the folder, is lost, but only after the run is done and saved.
  SUBCASE("stdout closed") { CHECK(shell(folder, train + " >&-").wait() == 8); }
  SUBCASE("all closed") { CHECK(shell(folder, train + " <&- >&- 2>&-").wait() == 8); }
  std::string metrics = read_bytes(folder / "run/metrics.jsonl");
  CHECK(lines_of(metrics) == 40);
  CHECK(metrics.starts_with("{\"step\": 1, "));  // and no line of the log among them
  CHECK_FALSE(contains(metrics, "step 1/40"));
  CHECK(read_bytes(folder / "run/checkpoint.h5").starts_with("sinklab-checkpoint"));
  CHECK_FALSE(read_bytes(folder / "run/evaluation.json").empty());
}

TEST_CASE("program: a limit on file sizes is an error of the disk and leaves no temporary") {
  TemporaryFolder folder;
  write_bytes(folder / "t.txt", some_text());
  REQUIRE(shell(folder, kTraining + std::string("--steps 2 --run run")).wait() == 0);
  REQUIRE(shell(folder, "eval_pos_learnable sink run/checkpoint.h5 > kept").wait() == 0);
  const char* commands[] = {
      "prepare --text t.txt --vocab 300 --out out",
      "report --out out/r.html run",
      "train_pos_learnable init --vocabulary 5000 --out out/i.h5",
      "eval_pos_learnable sink run/checkpoint.h5 --out out/e.json",
      "sweep " SINK_SOURCE_DIR
      "/train/studies/bigram_backcopy.toml --only baseline --seeds 0 --set steps=2 --workers 1 --threads 1 --set "
      "width=16 --set feed-forward=16 --set eval-every=1 --out out",
  };
  for (const char* command : commands) {
    CAPTURE(command);
    std::filesystem::remove_all(folder / "out");
    std::filesystem::create_directory(folder / "out");
    Subprocess program = shell(folder, "ulimit -f 1; " + std::string(command) + " 2> /dev/null");
    CHECK(program.wait() == 8);
    for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
      CHECK_MESSAGE(!contains(entry.path().filename().string(), ".tmp-"), entry.path().string());
  }
}

TEST_CASE("program: one that was built for another processor ends with a sentence, before it does anything") {
#ifdef __AVX2__
  CHECK(kBuiltFor.avx2);
#else
  CHECK_FALSE(kBuiltFor.avx2);
#endif
  CHECK(kBuiltFor.avx512f == (__builtin_cpu_supports("avx512f") && kBuiltFor.avx512f));
#ifndef __SANITIZE_ADDRESS__  // needs more address space than there is in the emulator
  if (!kBuiltFor.avx2 || ::access("/usr/bin/qemu-x86_64", X_OK) != 0) return;  // Debian's qemu-user
  const TemporaryFolder folder;
  check_error(folder, "/usr/bin/qemu-x86_64 -cpu Nehalem " SINK_BINARY_DIR "/train_pos_learnable --help", 7,
              "this program was built for a processor with avx2, which this one does not have");
#endif
}
