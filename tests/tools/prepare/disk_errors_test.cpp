// `prepare` on a disk that fails at any moment, and with links that lead nowhere: one sentence, exit code 8 or 3, and
// what was there stays.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>

#include "engine/data/token_file.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

std::string some_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Line " + std::to_string(i * i) + " of a document.\n<|endoftext|>\n";
  return text;
}

// `prepare` with another vocabulary and a fault of fault_shim.cpp.
std::vector<std::string> prepare_with_fault(const TemporaryFolder& folder, const std::string& fault) {
  return {"/usr/bin/env",
          "LD_PRELOAD=" + program_path("tests/libfault_shim.so"),
          "FAULT_FOLDER=" + std::filesystem::canonical(folder / "data").string(),
          "FAULT_CALL=" + fault,
          program_path("prepare"),
          "--vocab",
          "280",
          "--force",
          "--text",
          folder / "a.txt",
          "--out",
          folder / "data"};
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
        Subprocess program(folder, prepare_with_fault(folder, fault));
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

TEST_CASE("prepare: a disk that lies about its n-th write leaves with 8, or the tokens are right, whichever n") {
  TemporaryFolder folder;
  write_bytes(folder / "a.txt", some_text());
  const std::string prepare = "prepare --vocab 300 --text " + folder / "a.txt" + " --out " + folder / "data";
  REQUIRE(Subprocess(folder, words_of(prepare)).wait() == 0);
  const std::string older = read_bytes(folder / "data/tokens.h5");
  REQUIRE(Subprocess(folder, prepare_with_fault(folder, "none")).wait() == 0);
  auto checksum_of_tokens = [&] {
    const TokenFile file = read_token_file(folder / "data/tokens.h5");
    return tokens_checksum(file.train, file.valid);
  };
  const std::string newer = checksum_of_tokens();
  int refused = 0;
  for (const std::string lie : {"lost", "torn", "misdirected"})
    for (int call = 1; call <= 12; ++call) {
      const std::string fault = "write:" + std::to_string(call) + ":" + lie;
      CAPTURE(fault);
      REQUIRE(Subprocess(folder, words_of(prepare + " --force")).wait() == 0);
      Subprocess program(folder, prepare_with_fault(folder, fault));
      const int code = program.wait();
      CHECK_MESSAGE((code == 0 || code == 8), program.err());
      refused += code == 8;
      // libhdf5 also writes bytes without a meaning.
      CHECK((code == 0 ? checksum_of_tokens() == newer : read_bytes(folder / "data/tokens.h5") == older));
    }
  CHECK(refused >= 15);
}

TEST_CASE("prepare: a link that leads to itself, or nowhere, leaves with 3 and its name") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "texts");
  write_bytes(folder / "texts/a.txt", some_text());
  const std::string prepare = "prepare --vocab 300 --out " + folder / "data" + " --text ";
  std::filesystem::create_symlink("b.txt", folder / "texts/b.txt");
  check_error({folder, words_of(prepare + folder / "texts")}, 3, "texts/b.txt: Too many levels of symbolic links");
  check_error({folder, words_of(prepare + folder / "texts/b.txt")}, 3,
              "b.txt: cannot be read: Too many levels of symbolic links");
  std::filesystem::remove(folder / "texts/b.txt");
  std::filesystem::create_symlink("none.txt", folder / "texts/c.txt");
  check_error({folder, words_of(prepare + folder / "texts")}, 3, "texts/c.txt: No such file or directory");
  std::filesystem::remove(folder / "texts/c.txt");
  std::filesystem::create_symlink("itself", folder / "texts/itself");  // by its name no text
  Subprocess program(folder, words_of(prepare + folder / "texts"));
  CHECK_MESSAGE(program.wait() == 0, program.err());
}
