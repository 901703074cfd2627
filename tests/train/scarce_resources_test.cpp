// Too few file descriptors or too little memory: the program reports it in one sentence with exit code 6 (or 8). It
// never ends by a signal and never blames the file that it was reading.
#include <doctest/doctest.h>

#include <vector>

#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

const std::string kSizes =
    " --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --context 64 --batch 2 --warmup 0 "
    "--eval-sequences 2";
const std::string kLarger =
    " --task bigram-backcopy --layers 1 --heads 4 --width 256 --feed-forward 512 --context 256 --batch 4 --warmup 0 "
    "--eval-sequences 2";

struct Files : TemporaryFolder {
  Files() {
    run("train_pos_learnable --steps 2 --run run" + kSizes);
    write_bytes(*this / "ids.txt", "1 2 3\n");
    std::string text;
    for (int i = 0; i < 200; ++i) text += "Line " + std::to_string(i * i) + " of the document.\n";
    write_bytes(*this / "text.txt", text);
  }
  void run(const std::string& line) const {
    Subprocess program = shell(*this, line);
    REQUIRE_MESSAGE(program.wait() == 0, program.err());
  }
};

const std::vector<std::string> kCommands{
    "eval_pos_learnable sink run/checkpoint.h5 --tokens ids.txt",
    "eval_pos_learnable generate run/checkpoint.h5 --tokens ids.txt --most 3",
    "train_pos_learnable --steps 2 --run run --resume auto" + kSizes,
    "train_pos_learnable init --task bigram-backcopy --layers 1 --heads 1 --width 16 --out initial.h5",
    "train_pos_learnable --steps 2 --run other --force" + kSizes,
    "prepare --vocab 300 --text text.txt --out data",
};

}  // namespace

TEST_CASE("scarce descriptors: too few of them are named, and no file is called damaged") {
  Files files;
  for (const std::string& command : kCommands) {
    int refused = 0;
    for (int most = 4; most <= 14; ++most) {
      CAPTURE(command);
      CAPTURE(most);
      const std::string limited = "ulimit -n " + std::to_string(most) + "; exec ";
      if (shell(files, limited + words_of(command)[0] + " --help").wait() != 0) continue;  // its libraries do not load
      Subprocess program = shell(files, limited + command);
      const int code = program.wait();
      const std::string said = program.err();
      if (code == 0) continue;
      ++refused;
      CHECK_MESSAGE((code == 6 || code == 8), said);
      CHECK_MESSAGE(contains(said, "Too many open files"), said);
    }
    CHECK_MESSAGE(refused > 0, command);
  }
}

TEST_CASE("scarce memory: with any limit on addresses a program works, or leaves with 6") {
  Files files;
  std::vector<std::string> commands = kCommands;
  commands.push_back("train_pos_learnable --steps 1 --run larger --force" + kLarger);
  for (const std::string& command : commands) {
    const std::string program_name = words_of(command)[0];
    bool worked = false;
    for (int mib = 60; mib <= 600 && !worked; mib += (mib < 200 ? 7 : 23) * (test::is_short() ? 3 : 1)) {
      CAPTURE(command);
      CAPTURE(mib);
      const std::string limited = "ulimit -v " + std::to_string(mib << 10) + "; OMP_NUM_THREADS=2 exec ";
      if (shell(files, limited + program_name + " --help").wait() != 0) continue;  // its libraries do not load
      Subprocess program = shell(files, limited + command);
      const int code = program.wait();
      const std::string said = program.err();
      worked = code == 0;
      if (worked) continue;
      CHECK_MESSAGE(code == 6, code, ": ", said);
      CHECK_MESSAGE(contains(said, ": error: "), said);
    }
    CHECK(worked);
  }
}

TEST_CASE("scarce memory: a checkpoint is written, or not, at any limit: libhdf5 itself never lacks memory") {
  Files files;
  const std::string init = "init --task bigram-backcopy --layers 1 --heads 1 --width 16 --out initial.h5";
  const auto code_at = [&](int kib) {
    return shell(files, "ulimit -v " + std::to_string(kib) + "; OMP_NUM_THREADS=2 exec train_pos_learnable " + init)
        .wait();
  };
  int enough = 60 << 10;
  while (code_at(enough) != 0 && enough < 600 << 10) enough += 4 << 10;
  REQUIRE(enough < 600 << 10);
  for (int kib = enough - (24 << 10); kib < enough; kib += test::is_short() ? 640 : 128) {
    CAPTURE(kib);
    const int code = code_at(kib);
    if (code == 127) continue;  // its libraries do not load
    CHECK((code == 0 || code == 6));
  }
}
