// Tests of the program `prepare`: what it writes, and how it fails. They need it built, and are left out if it is not.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "tests/train/data/data_support.h"
#include "train/data/data_source.h"

using namespace sink;
using namespace sink::test;

namespace {

const std::string kPrepare = std::string(SINK_BINARY_DIR) + "/prepare";

bool built() {
  if (std::filesystem::exists(kPrepare)) return true;
  MESSAGE("prepare is not built; test left out");
  return false;
}

struct Outcome {
  int code;
  std::string out;
  std::string error;
};

Outcome run(const TemporaryFolder& folder, const std::string& arguments, const std::string& before = "") {
  std::string out = folder / "stdout", error = folder / "stderr";
  int status = std::system((before + "'" + kPrepare + "' " + arguments + " > " + out + " 2> " + error).c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file("test", out), read_file("test", error)};
  std::filesystem::remove(out);
  std::filesystem::remove(error);
  return outcome;
}

// 40 documents of about 250 bytes, with words, numbers and marks.
std::string some_text() {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 10; ++j) text += "Line " + std::to_string(i * j) + " of the document.\n";
    text += "\n<|endoftext|>\n";
  }
  return text;
}

std::string write_text(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  write_files("test", {{folder / name, text}});
  return folder / name;
}

// Exactly one line, and it begins as errors do.
void check_error(const Outcome& outcome, int code, const std::string& part) {
  CAPTURE(outcome.error);
  CHECK(outcome.code == code);
  CHECK(outcome.out == "");
  CHECK(contains(outcome.error, part));
  std::size_t line = outcome.error.find("prepare: error: ");
  REQUIRE(line != std::string::npos);
  CHECK(outcome.error.find('\n', line) == outcome.error.size() - 1);
}

}  // namespace

TEST_CASE("prepare: makes data that a source can read, the same each time") {
  if (!built()) return;
  TemporaryFolder folder("prepare_test");
  std::string text = write_text(folder, "a.txt", some_text());
  Outcome outcome =
      run(folder, "--text " + text + " --vocab 300 --validation-fraction 0.2 --out " + folder / "new/data");
  CAPTURE(outcome.error);
  REQUIRE(outcome.code == 0);
  CHECK(contains(outcome.out, "documents         40\n"));
  CHECK(contains(outcome.out, "vocabulary        300\n"));
  TokenFile tokens = read_token_file(folder / "new/data/tokens.h5");
  CHECK(contains(tokens.sources, "a.txt " + std::to_string(some_text().size()) + " sha256:"));
  // Every document, followed by id 0, stands on one side; together they are the text.
  Tokenizer tokenizer = Tokenizer::load(folder / "new/data/tokenizer.json");
  CHECK(std::count(tokens.train.begin(), tokens.train.end(), 0) +
            std::count(tokens.valid.begin(), tokens.valid.end(), 0) ==
        40);
  CHECK(tokens.train.back() == 0);
  CHECK(tokens.valid.back() == 0);
  CHECK(tokens.train.front() != 0);
  std::string back = tokenizer.decode(tokens.train) + tokenizer.decode(tokens.valid);
  CHECK(back.size() == some_text().size() - 40 * 3);  // the line ends before (2) and after (1) each mark are left out
  CHECK(contains(back, "Line 39 of the document.\nLine 78 of the document."));

  RunConfig config;
  config.data = folder / "new/data";
  config.context = 16;
  CHECK(make_data_source(config)->vocabulary() == 300);

  REQUIRE(run(folder, "--text " + text + " --vocab 300 --validation-fraction 0.2 --out " + folder / "again").code == 0);
  for (const char* file : {"tokens.h5", "tokenizer.json"}) {
    CHECK(read_file("test", folder / "again/" + file) == read_file("test", folder / "new/data/" + file));
  }
  // With the tokenizer given, ids are the same; a single document is split by tokens.
  std::string one = write_text(folder, "one.txt", some_text().substr(0, 250) + std::string(1000, 'x'));
  REQUIRE(
      run(folder, "--text " + one + " --tokenizer " + folder / "again/tokenizer.json --out " + folder / "one").code ==
      0);
  TokenFile single = read_token_file(folder / "one/tokens.h5");
  CHECK(single.vocabulary == 300);
  CHECK(single.valid.back() == 0);
  CHECK(std::count(single.train.begin(), single.train.end(), 0) == 0);
}

TEST_CASE("prepare: text that cannot be used leaves with 3, one line each, and writes nothing") {
  if (!built()) return;
  TemporaryFolder folder("prepare_bad_text_test");
  std::string out = " --out " + folder / "data";
  auto error = [&](const std::string& text) {
    return run(folder, "--text " + write_text(folder, "t.txt", text) + out);
  };
  check_error(run(folder, "--text " + folder / "none.txt" + out), 3, "none.txt: No such file");
  check_error(run(folder, "--text " + folder.str() + out), 3, "is a folder");
  check_error(error(""), 3, "t.txt: is empty");
  check_error(error(" \n\n"), 3, "t.txt: is empty");
  check_error(error("too short"), 3, "the text is too short: 9 bytes");
  check_error(error(some_text() + std::string("\0", 1)), 3,
              "is binary (byte " + std::to_string(some_text().size()) + " is 0)");
  check_error(error("abc\xe9" + some_text()), 3, "t.txt: is not UTF-8 at byte 3");
  std::string marks;
  for (int i = 0; i < 100; ++i) marks += "<|endoftext|>\n";
  check_error(error(marks), 3, "no documents");
  std::string text = write_text(folder, "t.txt", some_text());
  check_error(run(folder, "--text " + text + " --tokenizer " + text + out), 3, "t.txt: ");
  CHECK(std::filesystem::is_empty(folder / "data"));
}

TEST_CASE("prepare: wrong use leaves with 2") {
  if (!built()) return;
  TemporaryFolder folder("prepare_usage_test");
  std::string text = "--text " + write_text(folder, "t.txt", some_text()) + " --out " + folder / "data ";
  check_error(run(folder, ""), 2, "--");
  check_error(run(folder, text + "--vocab 100"), 2, "258");
  check_error(run(folder, text + "--vocabulary 300"), 2, "--vocabulary");
  check_error(run(folder, text + "--vocab 300 --tokenizer x"), 2, "excludes");
  check_error(run(folder, text + "--validation-fraction 0.9"), 2, "0.9");
  CHECK(run(folder, "--help").code == 0);
  CHECK(!std::filesystem::exists(folder / "data"));
}

TEST_CASE("prepare: a folder that cannot be written, or a full disk, leaves with 8 and what was there stays") {
  if (!built()) return;
  TemporaryFolder folder("prepare_io_test");
  std::string text = write_text(folder, "t.txt", some_text());
  check_error(run(folder, "--text " + text + " --out " + text + "/data"), 8, "t.txt/data");
  check_error(run(folder, "--text " + text + " --out /proc/none"), 8, "/proc/none");
  // A limit on the size of files stands in for a full disk: the write fails half-way.
  REQUIRE(run(folder, "--text " + text + " --vocab 300 --out " + folder / "data").code == 0);
  std::string tokens = read_file("test", folder / "data/tokens.h5");
  Outcome outcome =
      run(folder, "--text " + text + " --vocab 280 --out " + folder / "data", "trap '' XFSZ; ulimit -f 4; ");
  check_error(outcome, 8, "cannot write " + folder / "data/tokenizer.json");
  CHECK(read_file("test", folder / "data/tokens.h5") == tokens);
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "data"), std::filesystem::directory_iterator()) ==
        2);
}
