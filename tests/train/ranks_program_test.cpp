// Ranks as a user starts them: the same files as one process writes, whoever starts them and however they go on.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

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

// What was measured at the end, maps included.
std::string evaluation_of(const std::string& run) {
  auto json = nlohmann::json::parse(read_bytes(run + "/evaluation.json"));
  json.erase("run");
  json.erase("date");
  return json.dump();
}

void check_same_run(const std::string& run, const std::string& expected) {
  CHECK((read_bytes(run + "/checkpoint.h5") == read_bytes(expected + "/checkpoint.h5")));  // byte for byte
  CHECK((steps_of(run) == steps_of(expected)));
  CHECK_MESSAGE((evaluation_of(run) == evaluation_of(expected)), "evaluation.json differs");
}

bool has_program(const char* name) {
  return std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

TEST_CASE("ranks of --nproc write the files of one process, whether their state is sharded or not") {
  TemporaryFolder folder;
  const std::string one = folder / "one";
  said_by(line_of(one, "--steps 9"));
  for (std::string how : {"--nproc 1", "--nproc 2", "--nproc 2 --zero 1", "--nproc 4 --zero 1"}) {
    CAPTURE(how);
    TemporaryFolder other;
    std::string said = said_by(line_of(other / "run", "--steps 9 " + how));
    check_same_run(other / "run", one);
    CHECK(contains(said, "tcp") == !contains(how, "nproc 1"));
  }
}

TEST_CASE("ranks: a run goes on from 1 to 4 to 2 ranks, and ends with the files of one that never stopped") {
  TemporaryFolder folder;
  const std::string one = folder / "one", run = folder / "run";
  said_by(line_of(one, "--steps 9"));
  said_by(line_of(run, "--steps 2"));
  said_by(line_of(run, "--steps 5 --resume auto --nproc 4 --zero 1"));
  said_by(line_of(run, "--steps 9 --resume auto --nproc 2"));
  CHECK((read_bytes(run + "/checkpoint.h5") == read_bytes(one + "/checkpoint.h5")));
}

TEST_CASE("ranks: by torchrun's variables and by mpirun, by tcp and by mpi") {
  TemporaryFolder folder;
  const std::string one = folder / "one", two = folder / "two", mpi = folder / "mpi", tcp = folder / "tcp";
  said_by(line_of(one, "--steps 5"));
  const std::string variables = "WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port";
  said_by("port=$(( 20000 + $$ % 20000 )); RANK=1 " + variables + " " + line_of(two, "--steps 5") + " & RANK=0 " +
          variables + " " + line_of(two, "--steps 5") + "; code=$?; wait; exit $code");
  check_same_run(two, one);
  if (!has_program("mpirun")) {
    MESSAGE("skipped: there is no mpirun");
    return;
  }
  const std::string mpirun = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -np 2 ";
  if (std::filesystem::exists(program_path("libsinklab_mpi.so"))) {
    CHECK(contains(said_by(mpirun + line_of(mpi, "--steps 5 --zero 1")), "2 ranks by mpi"));
    check_same_run(mpi, one);
  }
  CHECK(contains(said_by(mpirun + line_of(tcp, "--steps 5 --comm tcp")), "2 ranks by tcp"));
  check_same_run(tcp, one);
}

TEST_CASE("ranks: what cannot be is said once more by nobody, and nothing of the user's is touched") {
  TemporaryFolder folder;
  const std::string run = folder / "run";
  CHECK(contains(said_by(line_of(run, "--steps 5 --nproc 3"), 2), "3 ranks share the 4 micro-batches"));
  CHECK_FALSE(std::filesystem::exists(run));
  said_by(line_of(run, "--steps 3"));
  const std::string before = read_bytes(run + "/checkpoint.h5");
  std::string said = said_by(line_of(run, "--steps 5 --nproc 2"), 2);
  CHECK(contains(said, "already holds files"));
  CHECK(contains(said, "rank 0 of 2 has left: "));
  CHECK(read_bytes(run + "/checkpoint.h5") == before);
  CHECK(contains(said_by(line_of(folder / "x", "--steps 5 --nproc 2 --zero 3"), 2),
                 "--zero must be 0 or 1, got 3: gradients and parameters are not sharded; --zero 1 trains to the same "
                 "bits"));
  CHECK(contains(said_by(line_of(folder / "x", "--steps 5 --nproc 2 --zero 1 --optimizer muon"), 2), "whole matrices"));
  // Ranks that were started with other settings.
  const std::string variables = "WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port";
  said = said_by("port=$(( 20000 + ($$ + 7777) % 20000 )); RANK=1 " + variables + " " +
                     line_of(folder / "y", "--steps 5 --learning-rate 0.5") + " & RANK=0 " + variables + " " +
                     line_of(folder / "y", "--steps 5") + "; code=$?; wait; exit $code",
                 2);
  CHECK_MESSAGE(contains(said, "rank 1 was started with other settings than rank 0: learning-rate = 0.5"), said);
}
