// Ranks as a user starts them: the same files as from one process, for any launcher and after any resume.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/engine/data/data_support.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

std::string line_of(const std::string& run, const std::string& more) {
  return "train_pos_learnable --task bigram-backcopy --layers 3 --heads 2 --width 32 --feed-forward 48 --context 32 "
         "--batch 2 "
         "--accumulate 4 --warmup 0 --eval-sequences 6 --eval-every 4 --run " +
         run + " " + more;
}

std::string said_by(const std::string& line, int code = 0) {
  TemporaryFolder folder;
  Subprocess run = shell(folder, line);
  CHECK_MESSAGE(run.wait() == code, run.err());
  return run.err();
}

// What a run says of its steps, without what depends on the clock.
std::string steps_of(const std::string& run) {
  std::istringstream lines(read_bytes(run + "/metrics.jsonl"));
  std::string steps;
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::json::parse(line);
    json.erase("seconds");
    json.erase("tokens_per_second");
    steps += json.dump() + "\n";
  }
  return steps;
}

// How many ranks evaluation.json reports; one if it does not say.
int ranks_of(const std::string& run) {
  return nlohmann::json::parse(read_bytes(run + "/evaluation.json")).value("ranks", 1);
}

// What was measured at the end, maps included.
std::string evaluation_of(const std::string& run) {
  auto json = nlohmann::json::parse(read_bytes(run + "/evaluation.json"));
  json.erase("run");
  json.erase("date");
  json.erase("ranks");
  return json.dump();
}

void check_same_run(const std::string& run, const std::string& expected) {
  CHECK((read_bytes(run + "/checkpoint.h5") == read_bytes(expected + "/checkpoint.h5")));  // byte for byte
  CHECK((steps_of(run) == steps_of(expected)));
  CHECK_MESSAGE((evaluation_of(run) == evaluation_of(expected)), "evaluation.json differs");
}

// Whether ranks can be started here; a build with sanitizers has no MPI.
bool has_mpi() {
  const bool has = std::system("command -v mpirun >/dev/null 2>&1") == 0 &&
                   std::filesystem::exists(program_path("libsinklab_mpi.so"));
  if (!has) MESSAGE("skipped: there is no MPI");
  return has;
}

}  // namespace

TEST_CASE("ranks of --nproc write the files of one process, whether their state is sharded or not") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string one = folder / "one";
  said_by(line_of(one, "--steps 9"));
  for (std::string how : {"--nproc 1", "--nproc 2", "--nproc 2 --zero 1", "--nproc 4 --zero 1"}) {
    CAPTURE(how);
    TemporaryFolder other;
    std::string said = said_by(line_of(other / "run", "--steps 9 " + how));
    check_same_run(other / "run", one);
    CHECK(contains(said, "ranks by mpi") == !contains(how, "nproc 1"));
    CHECK(ranks_of(other / "run") == how[8] - '0');
  }
}

TEST_CASE("ranks: a run goes on from 1 to 4 to 2 ranks, and ends with the files of one that never stopped") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string one = folder / "one", run = folder / "run";
  said_by(line_of(one, "--steps 9"));
  said_by(line_of(run, "--steps 2"));
  said_by(line_of(run, "--steps 5 --resume auto --nproc 4 --zero 1"));
  said_by(line_of(run, "--steps 9 --resume auto --nproc 2"));
  CHECK((read_bytes(run + "/checkpoint.h5") == read_bytes(one + "/checkpoint.h5")));
}

namespace {

const std::string kMpirun = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n ";

}  // namespace

TEST_CASE("ranks: by mpirun, whose ranks may start others by --nproc") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string one = folder / "one";
  said_by(line_of(one, "--steps 5"));
  CHECK(contains(said_by(kMpirun + "2 " + line_of(folder / "two", "--steps 5 --zero 1")), "2 ranks by mpi"));
  check_same_run(folder / "two", one);
  CHECK(ranks_of(folder / "two") == 2);
  CHECK(contains(said_by(kMpirun + "1 " + line_of(folder / "nested", "--steps 5 --nproc 2")), "2 ranks by mpi"));
  check_same_run(folder / "nested", one);
  CHECK(contains(said_by(kMpirun + "2 " + line_of(folder / "x", "--steps 5 --nproc 4"), 2),
                 "--nproc 4 asks for ranks that are started here, but mpirun has started 2"));
}

TEST_CASE("ranks: --nproc without mpirun says what to install, and --dry-run needs none") {
  TemporaryFolder folder;
  const std::string without = "PATH=" + folder / "nothing" + " " + SINK_BINARY_DIR + "/";
  std::string said = said_by(without + line_of(folder / "run", "--steps 5 --nproc 2"), 7);
  CHECK_MESSAGE(contains(said, "install openmpi-bin and libopenmpi-dev"), said);
  said_by(without + line_of(folder / "run", "--steps 5 --nproc 2 --dry-run"));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
  CHECK(contains(said_by(line_of(folder / "run", "--comm tcp"), 2), "unknown flag --comm"));
}

TEST_CASE("ranks: wrong settings are errors, and nothing of the user's is changed") {
  TemporaryFolder folder;
  const std::string run = folder / "run";
  CHECK(contains(said_by(line_of(run, "--steps 5 --nproc 3"), 2), "3 ranks share the 4 micro-batches"));
  CHECK_FALSE(std::filesystem::exists(run));
  if (!has_mpi()) return;
  said_by(line_of(run, "--steps 3"));
  const std::string before = read_bytes(run + "/checkpoint.h5");
  std::string said = said_by(line_of(run, "--steps 5 --nproc 2"), 2);
  CHECK(contains(said, "already holds files"));
  CHECK(read_bytes(run + "/checkpoint.h5") == before);
  CHECK(contains(said_by(line_of(folder / "x", "--steps 5 --nproc 2 --zero 3"), 2),
                 "--zero must be 0 or 1, got 3: gradients and parameters are not sharded; --zero 1 trains to the same "
                 "bits"));
  CHECK(contains(said_by(line_of(folder / "x", "--steps 5 --nproc 2 --zero 1 --optimizer muon"), 2), "whole matrices"));
  // A run that diverges, whose end the writer explains.
  said = said_by(line_of(folder / "d", "--steps 100 --nproc 2 --learning-rate 100 --clip 0"), 5);
  CHECK_MESSAGE(contains(said, "the loss or gradient was not finite"), said);
  // Ranks that were started with other settings. A shell chooses them, not `mpirun ... : ...`: mpirun of Debian 13's
  // Open MPI 5.0.7 has a segmentation fault there, whatever the programs (its issue 13303).
  said = said_by(kMpirun + "2 sh -c 'test $OMPI_COMM_WORLD_RANK = 1 || rate=0.5; exec " +
                     line_of(folder / "y", "--steps 5 --learning-rate ${rate:-0.001}") + "'",
                 2);
  CHECK_MESSAGE(contains(said, "rank 1 was started with other settings than rank 0: learning-rate = "), said);
}

TEST_CASE("ranks: nodes that have other tokens under the same path are refused") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  for (const char* node : {"0", "1"}) {
    const std::string data = folder / (node + std::string("/data"));
    std::filesystem::create_directories(data);
    write_counting_text(data, 2000, *node == '1' ? 300 : 400);
  }
  const auto said = [&](const std::string& place, int code) {
    std::string line = line_of(folder / ("run" + std::to_string(code)), "--data data --steps 2");
    line.replace(line.find("bigram-backcopy"), std::string("bigram-backcopy").size(), "text");
    return said_by(kMpirun + "2 sh -c 'cd " + folder.path + "/" + place + " && exec " + line + "'", code);
  };
  said("0", 0);
  const std::string refusal = said("$OMPI_COMM_WORLD_RANK", 3);
  CHECK_MESSAGE(
      contains(refusal, "rank 1 has read other data than rank 0: the SHA-256 of its tokens is " +
                            read_token_file(folder / "1/data/tokens.h5").checksum.substr(0, 12) + " instead of " +
                            read_token_file(folder / "0/data/tokens.h5").checksum.substr(0, 12)),
      refusal);
  CHECK_FALSE(std::filesystem::exists(folder / "run3/checkpoint.h5"));
}
