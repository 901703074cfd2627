// A checkpoint on a disk that reports a write as done and did not do it: the file is read back before it takes the
// place of the older one.
#include <doctest/doctest.h>

#include "tests/support/subprocess.h"

using namespace sink;

TEST_CASE("checkpoint: a disk that reports its n-th write falsely leaves with 8 and the older file, whichever n") {
  TemporaryFolder folder;
  const std::string file = folder / "start.h5",
                    init =
                        "train_baseline init --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 32 "
                        "--context 32 --force --out " +
                        file + " --seed ";
  REQUIRE(Subprocess(folder, words_of(init + "2")).wait() == 0);
  const std::string newer = read_bytes(file);
  REQUIRE(Subprocess(folder, words_of(init + "1")).wait() == 0);
  const std::string older = read_bytes(file);
  REQUIRE(older != newer);
  for (const std::string fault : {"lost", "torn", "misdirected"}) {
    int refused = 0;
    for (int call = 1; call <= 4; ++call) {
      CAPTURE(fault);
      CAPTURE(call);
      std::vector<std::string> words = words_of(init + "2");
      words.front() = program_path(words.front());
      words.insert(words.begin(), {"/usr/bin/env", "LD_PRELOAD=" + program_path("tests/libfault_shim.so"),
                                   "FAULT_FOLDER=" + std::filesystem::canonical(folder.path).string(),
                                   "FAULT_CALL=write:" + std::to_string(call) + ":" + fault});
      Subprocess program(folder, words);
      const int code = program.wait();
      CHECK_MESSAGE((code == 0 || code == 8), program.err());
      CHECK((read_bytes(file) == (code == 0 ? newer : older)));
      if (code == 8)
        CHECK_MESSAGE(contains(program.err(), "what the disk gave back is not what was written"), program.err());
      refused += code == 8;
      if (code == 0) REQUIRE(Subprocess(folder, words_of(init + "1")).wait() == 0);
    }
    CHECK_MESSAGE(refused >= 1, fault);
  }
}
