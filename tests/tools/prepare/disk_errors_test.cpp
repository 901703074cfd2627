// `prepare` on a disk that fails at any moment, and with links that lead nowhere: one sentence, exit code 8 or 3, and
// what was there stays.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>

#include "tests/support/subprocess.h"

using namespace sink;

namespace {

std::string some_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Line " + std::to_string(i * i) + " of a document.\n<|endoftext|>\n";
  return text;
}

void check_error(const Subprocess& program, int code, const std::string& clue) {
  const int came = program.wait();
  const std::string said = program.err();
  CHECK_MESSAGE(came == code, said);
  const std::size_t error = said.find("prepare: error: ");
  CHECK_MESSAGE(error != std::string::npos, said);
  CHECK_MESSAGE(contains(said, clue), said);
  if (error != std::string::npos) CHECK_MESSAGE(said.find('\n', error) == said.size() - 1, said);
}

}  // namespace

TEST_CASE("prepare: a disk that fails from its n-th call on leaves with 8, whichever n, and an older result stays") {
  TemporaryFolder folder;
  write_bytes(folder / "a.txt", some_text());
  const std::string prepare = "prepare --vocab 300 --text " + folder / "a.txt" + " --out " + folder / "data";
  REQUIRE(Subprocess(folder, words_of(prepare)).wait() == 0);
  const std::string older = read_bytes(folder / "data/tokens.h5");
  for (const std::string kind : {"write", "truncate", "fsync"})
    for (const std::string error : {"ENOSPC", "EIO"}) {
      int call = 1;
      for (int code = 8; code != 0 && call < 100; ++call) {
        const std::string fault = kind + ":" + std::to_string(call) + ":" + error + "+";
        CAPTURE(fault);
        Subprocess program(
            folder, {"/usr/bin/env", "LD_PRELOAD=" + program_path("tests/libfault_shim.so"),
                     "FAULT_FOLDER=" + std::filesystem::canonical(folder / "data").string(), "FAULT_CALL=" + fault,
                     program_path("prepare"), "--vocab", "280", "--text", folder / "a.txt", "--out", folder / "data"});
        code = program.wait();
        if (code == 0) break;
        CHECK_MESSAGE(code == 8, program.err());
        // A folder that cannot be flushed has its new names.
        CHECK((kind == "fsync" || read_bytes(folder / "data/tokens.h5") == older));
      }
      CHECK(call > 3);
      CHECK(call < 100);
      CHECK(Subprocess(folder, words_of(prepare + " --force")).wait() == 0);
      CHECK(read_bytes(folder / "data/tokens.h5") == older);
    }
}

TEST_CASE("prepare: a link that leads to itself, or nowhere, leaves with 3 and its name") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "texts");
  write_bytes(folder / "texts/a.txt", some_text());
  const std::string prepare = "prepare --vocab 300 --out " + folder / "data" + " --text ";
  std::filesystem::create_symlink("b.txt", folder / "texts/b.txt");
  check_error({folder, words_of(prepare + folder / "texts")}, 3, "texts/b.txt: Too many levels of symbolic links");
  check_error({folder, words_of(prepare + folder / "texts/b.txt")}, 3, "b.txt: Too many levels of symbolic links");
  std::filesystem::remove(folder / "texts/b.txt");
  std::filesystem::create_symlink("none.txt", folder / "texts/c.txt");
  check_error({folder, words_of(prepare + folder / "texts")}, 3, "texts/c.txt: No such file or directory");
  std::filesystem::remove(folder / "texts/c.txt");
  std::filesystem::create_symlink("itself", folder / "texts/itself");  // by its name no text
  Subprocess program(folder, words_of(prepare + folder / "texts"));
  CHECK_MESSAGE(program.wait() == 0, program.err());
}
