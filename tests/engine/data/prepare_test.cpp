// Tests of the program `prepare`: what it writes, and how it fails. They need it built, and are left out if it is not.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "engine/data/data_source.h"
#include "tests/engine/data/data_support.h"
#include "tests/support/packed.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

bool built() {
  if (std::filesystem::exists(program_path("prepare"))) return true;
  MESSAGE("prepare is not built; test left out");
  return false;
}

Subprocess run(const TemporaryFolder& folder, const std::string& arguments) {
  return {folder, words_of("prepare " + arguments)};
}

// 40 documents of about 250 bytes, with words, digits and marks.
std::string some_text() {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 10; ++j) text += "Line " + std::to_string(i * j) + " of the document.\n";
    text += "\n<|endoftext|>\n";
  }
  return text;
}

std::string write_text(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  write_bytes(folder / name, text);
  return folder / name;
}

// Exactly one line, and it begins as errors do.
void check_error(const Subprocess& program, int code, const std::string& part) {
  CHECK(program.wait() == code);
  std::string error = program.err();
  CAPTURE(error);
  CHECK(program.out() == "");
  CHECK(contains(error, part));
  std::size_t line = error.find("prepare: error: ");
  REQUIRE(line != std::string::npos);
  CHECK(error.find('\n', line) == error.size() - 1);
}

}  // namespace

TEST_CASE("prepare: makes data that a source can read, the same each time") {
  if (!built()) return;
  TemporaryFolder folder;
  std::string text = write_text(folder, "a.txt", some_text());
  Subprocess program =
      run(folder, "--text " + text + " --vocab 300 --validation-fraction 0.2 --out " + folder / "new/data");
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  CHECK(contains(program.out(), "documents         40\n"));
  CHECK(contains(program.out(), "vocabulary        300\n"));
  TokenFile tokens = read_token_file(folder / "new/data/tokens.h5");
  CHECK(contains(tokens.sources, "a.txt " + std::to_string(some_text().size()) + " sha256:"));
  // Every document, followed by id 0, is in one of the two sets; together they are the text.
  Tokenizer tokenizer = Tokenizer::load(folder / "new/data/tokenizer.json");
  std::vector<std::int32_t> train = values(tokens.train), valid = values(tokens.valid);
  CHECK(std::count(train.begin(), train.end(), 0) + std::count(valid.begin(), valid.end(), 0) == 40);
  CHECK(train.back() == 0);
  CHECK(valid.back() == 0);
  CHECK(train.front() != 0);
  std::string back = tokenizer.decode(train) + tokenizer.decode(valid);
  CHECK(back.size() == some_text().size() - 40 * 3);  // the line ends before (2) and after (1) each mark are left out
  CHECK(contains(back, "Line 39 of the document.\nLine 78 of the document."));

  DataConfig config;
  config.data = folder / "new/data";
  CHECK(make_data_source(config, 16)->vocabulary() == 300);

  REQUIRE(run(folder, "--text " + text + " --vocab 300 --validation-fraction 0.2 --out " + folder / "again").wait() ==
          0);
  for (const char* file : {"tokens.h5", "tokenizer.json"}) {
    CHECK(read_bytes(folder / "again/" + file) == read_bytes(folder / "new/data/" + file));
  }
  // With the tokenizer given, ids are the same; a single document is split by tokens.
  std::string one = write_text(folder, "one.txt", some_text().substr(0, 250) + std::string(1000, 'x'));
  REQUIRE(
      run(folder, "--text " + one + " --tokenizer " + folder / "again/tokenizer.json --out " + folder / "one").wait() ==
      0);
  TokenFile single = read_token_file(folder / "one/tokens.h5");
  CHECK(single.begin_token == -1);
  CHECK(single.vocabulary == 300);
  train = values(single.train);
  CHECK(values(single.valid).back() == 0);
  CHECK(std::count(train.begin(), train.end(), 0) == 0);
}

TEST_CASE("prepare: text that cannot be used leaves with 3, one line each, and writes nothing") {
  if (!built()) return;
  TemporaryFolder folder;
  std::string out = " --out " + folder / "data";
  auto error = [&](const std::string& text) {
    return run(folder, "--text " + write_text(folder, "t.txt", text) + out);
  };
  check_error(run(folder, "--text " + folder / "none.txt" + out), 3, "none.txt: cannot be read: No such file");
  std::filesystem::create_directory(folder / "void");
  check_error(run(folder, "--text " + folder / "void" + out), 3, "the folder has no text files");
  check_error(error(""), 3, "t.txt: is empty");
  check_error(error(" \n\n"), 3, "t.txt: is empty");
  check_error(error("too short"), 3, "the text is too short: 9 bytes");
  check_error(error(some_text() + std::string("\0", 1)), 3,
              "is binary (byte " + std::to_string(some_text().size()) + " is 0)");
  check_error(error("abc\xe9" + some_text()), 3, "t.txt: is not UTF-8 at byte 3");
  std::string marks;
  for (int i = 0; i < 100; ++i) marks += "<|endoftext|>\n";
  check_error(error(marks), 3, "no documents are left");
  check_error(
      run(folder, "--format jsonl --text " + write_text(folder, "l.txt", "{\"text\": 1}\n" + some_text()) + out), 3,
      "l.txt: line 1 is not a document: expected an object with a text `text`");
  std::string text = write_text(folder, "t.txt", some_text());
  check_error(run(folder, "--text " + text + " --tokenizer " + text + out), 3, "t.txt: ");
  CHECK(std::filesystem::is_empty(folder / "data"));
}

TEST_CASE("prepare: wrong use leaves with 2") {
  if (!built()) return;
  TemporaryFolder folder;
  std::string text = "--text " + write_text(folder, "t.txt", some_text()) + " --out " + folder / "data ";
  check_error(run(folder, ""), 2, "--");
  check_error(run(folder, "--out " + folder / "data"), 2, "--text, --domain, --mixture or --chat is needed");
  std::string out = "--out " + folder / "data ", file = folder / "t.txt";
  check_error(run(folder, out + "--domain " + file), 2, "expected NAME=PATH");
  check_error(run(folder, out + "--domain a=" + file + ":1 --domain b=" + file), 2, "some domains have a weight");
  check_error(run(folder, out + "--domain a=" + file + " --domain a=" + file), 2, "domain a is given twice");
  check_error(run(folder, out + "--domain a=" + file + ":-1"), 2, "expected a weight above 0");
  check_error(run(folder, text + "--vocab 100"), 2, "258");
  check_error(run(folder, text + "--vocabulary 300"), 2, "--vocabulary");
  check_error(run(folder, text + "--vocab 300 --tokenizer x"), 2, "exclude each other");
  check_error(run(folder, text + "--validation-fraction 0.9"), 2, "0.9");
  check_error(run(folder, "--chat " + file + " --field body " + out), 2, "--chat and --field exclude each other");
  check_error(run(folder, out + "--mixture /dev/zero"), 3, "/dev/zero has more than 1048576 bytes");
  check_error(run(folder, text + "--in " + folder.path), 2, "--in is read with --domain or --mixture");
  CHECK(run(folder, "--help").wait() == 0);
  CHECK(!std::filesystem::exists(folder / "data"));
  check_error(run(folder, text + "--field body"), 2, "--field is a key of JSONL, and no file here is JSONL");
  check_error(run(folder, text + "--format text --field body"), 2, "--field is a key of JSONL");
  check_error(run(folder, text + "--format jsonl --field body"), 3, "line 1 is not a document");
  check_error(run(folder, text + "--begin-token 70000"), 2, "--begin-token must be below the vocabulary");
}

TEST_CASE("prepare: a folder that cannot be written, or a full disk, leaves with 8 and what was there stays") {
  if (!built()) return;
  TemporaryFolder folder;
  std::string text = write_text(folder, "t.txt", some_text());
  check_error(run(folder, "--text " + text + " --out " + text + "/data"), 8, "t.txt/data");
  check_error(run(folder, "--text " + text + " --out /proc/none"), 8, "/proc/none");
  REQUIRE(run(folder, "--text " + text + " --vocab 300 --out " + folder / "data").wait() == 0);
  std::string tokens = read_bytes(folder / "data/tokens.h5");
  FileSizeLimit limit(4096);
  check_error(run(folder, "--text " + text + " --vocab 280 --force --out " + folder / "data"), 8,
              "cannot write " + folder / "data/tokens.h5");
  CHECK(read_bytes(folder / "data/tokens.h5") == tokens);
  CHECK(entries(folder / "data") == 2);
}

TEST_CASE("prepare: data that runs may need is replaced only with --force; what a killed one left is finished") {
  if (!built()) return;
  TemporaryFolder folder;
  const std::string command =
      "--text " + write_text(folder, "t.txt", some_text()) + " --out " + folder / "data" + " --vocab ";
  REQUIRE(run(folder, command + "300").wait() == 0);
  const std::string tokens = read_bytes(folder / "data/tokens.h5");
  check_error(run(folder, command + "280"), 2, "data already holds data of `prepare`");
  CHECK(read_bytes(folder / "data/tokens.h5") == tokens);
  REQUIRE(run(folder, command + "280 --force").wait() == 0);
  CHECK(read_bytes(folder / "data/tokens.h5") != tokens);
  std::filesystem::remove(folder / "data/tokenizer.json");
  CHECK(run(folder, command + "300").wait() == 0);
  CHECK(read_bytes(folder / "data/tokens.h5") == tokens);
}

TEST_CASE("prepare: domains of text and JSONL, plain and packed, without copies, in the order that is asked for") {
  if (!built()) return;
  TemporaryFolder folder;
  auto document = [](int i) { return "Document number " + std::to_string(i) + ", which is long enough to be kept."; };
  std::string text, jsonl;
  for (int i = 0; i < 30; ++i) text += document(i) + "\n<|endoftext|>\n";
  text += " \n<|endoftext|>\ntiny\n<|endoftext|>\n" + document(3) + "\n";
  for (int i = 20; i < 50; ++i) jsonl += "{\"meta\": {\"n\": 1}, \"content\": \"" + document(i) + "\"}\n\n";
  write_bytes(folder / "a.txt", text);
  std::filesystem::create_directories(folder / "more/deep");
  write_bytes(folder / "more/deep/b.jsonl.gz", gzipped(jsonl.substr(0, 500)) + gzipped(jsonl.substr(500)));
  write_bytes(folder / "more/c.jsonl.zst", zstd_packed("{\"content\": \"" + document(99) + "\"}"));
  write_bytes(folder / "more/SOURCES", "no text");
  write_bytes(folder / "m.toml", "# two\nfirst = \"a.txt:3\"\nsecond = \"more:1\"\n");

  Subprocess program = run(folder, "--mixture " + folder / "m.toml" + " --in " + folder.path +
                                       " --field content --vocab 300 --validation-fraction 0.3 --begin-token 1 --out " +
                                       folder / "data");
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  CHECK(contains(program.out(), "documents         51\n"));
  TokenFile file = read_token_file(folder / "data/tokens.h5");
  CHECK(file.begin_token == 1);
  REQUIRE(file.domains.size() == 2);
  CHECK(file.domains[0].name == "first");
  CHECK(file.domains[0].weight == 3);
  CHECK(file.domains[0].documents == 30);
  CHECK(file.domains[1].documents == 21);  // 10 of 31 were in the first
  CHECK(contains(file.sources, "b.jsonl.gz " + std::to_string(jsonl.size()) + " sha256:" + sha256_hex(jsonl)));
  std::string table = program.out();
  auto row = [&](const std::string& name) {
    std::istringstream line(table.substr(table.find("\n" + name) + 1));
    std::vector<std::string> cells;
    for (std::string cell; cells.size() < 11 && line >> cell;) cells.push_back(cell);
    return cells;
  };
  CHECK(row("first") ==
        std::vector<std::string>{"first", "1", "30", row("first")[3], std::to_string(file.domains[0].train_tokens),
                                 std::to_string(file.domains[0].valid_tokens), row("first")[6], "3", "1", "1", "1"});
  CHECK(row("second")[1] == "2");
  CHECK(row("second")[10] == "10");

  // Every document is in the set that its hash selects, between its begin and end tokens. Domains are in order.
  Tokenizer tokenizer = Tokenizer::load(folder / "data/tokenizer.json");
  std::string train, valid;
  for (int i = 0; i < 51; ++i) {
    std::string words = document(i < 50 ? i : 99);
    (std::stoull(sha256_hex(words).substr(0, 12), nullptr, 16) < 0.3 * 0x1p48 ? valid : train) +=
        "<|padding|>" + words + "<|endoftext|>";
  }
  CHECK(tokenizer.decode(values(file.valid)) == valid);
  std::string back = tokenizer.decode(values(file.train));
  CHECK(back.size() == train.size());
  // c is before deep/b in its folder.
  if (std::size_t at = train.find("<|padding|>" + document(99)); at != std::string::npos) {
    std::string last = train.substr(at);
    train.erase(at);
    train.insert(train.find("<|padding|>" + document(30)), last);
  }
  CHECK(back == train);
}

TEST_CASE("prepare: text that is read twice is the same as text that is kept") {
  if (!built()) return;
  TemporaryFolder folder;
  std::string text = write_text(folder, "a.txt", some_text());
  REQUIRE(run(folder, "--vocab 300 --text " + text + " --out " + folder / "kept").wait() == 0);
  REQUIRE(run(folder, "--tokenizer " + folder / "kept/tokenizer.json" + " --text " + text + " --out " + folder / "read")
              .wait() == 0);
  CHECK(read_bytes(folder / "kept/tokens.h5") == read_bytes(folder / "read/tokens.h5"));
}

TEST_CASE("prepare: chats become tokens of which the answers are predicted, by the tokenizer of a text") {
  if (!built()) return;
  TemporaryFolder folder;
  std::string text = write_text(folder, "a.txt", some_text()), jsonl;
  REQUIRE(run(folder, "--vocab 300 --text " + text + " --out " + folder / "text").wait() == 0);
  auto answer = [](int i) { return "Line " + std::to_string(i * i) + " of the document."; };
  for (int i = 0; i < 50; ++i)
    jsonl += R"({"messages": [{"role": "user", "content": "Line )" + std::to_string(i) +
             R"("}, {"role": "assistant", "content": ")" + answer(i) + "\"}]}\n";
  std::filesystem::create_directory(folder / "chat");
  write_bytes(folder / "chat/b.jsonl.gz", gzipped(jsonl + "{\"messages\": []}\n" + jsonl));
  const std::string tokenizer = " --tokenizer " + folder / "text/tokenizer.json", out = " --out " + folder / "data";
  Subprocess program =
      run(folder, "--chat " + folder / "chat" + tokenizer + " --validation-fraction 0.2 --begin-token 1" + out);
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
  CHECK(contains(program.out(), "documents         50\n"));
  CHECK(read_bytes(folder / "data/tokenizer.json") == read_bytes(folder / "text/tokenizer.json"));
  Tokenizer bpe = Tokenizer::load(folder / "text/tokenizer.json");
  TokenFile file = read_token_file(folder / "data/tokens.h5");
  CHECK(file.begin_token == 1);
  CHECK(file.domains[0].name == "chat");
  // Side by side, what is predicted is every answer and the text that ends it, and the sides are those of the hashes.
  std::string expected[2];
  std::size_t predicted = 0;
  for (int i = 0; i < 50; ++i) {
    std::string question = "Line " + std::to_string(i);
    std::string identity = "user " + std::to_string(question.size()) + "\nassistant " +
                           std::to_string(answer(i).size()) + "\n" + question + answer(i);
    bool valid = std::stoull(sha256_hex(identity).substr(0, 12), nullptr, 16) < 0.2 * 0x1p48;
    expected[valid] += answer(i) + "<|end|>";
    predicted += bpe.encode(answer(i)).size() + bpe.encode("<|end|>").size();
  }
  CHECK(contains(program.out(), "predicted tokens  " + std::to_string(predicted) + "\n"));
  for (bool valid : {false, true}) {
    std::vector<std::int32_t> ids = values(valid ? file.valid : file.train), answers;
    const TokenMarks& marks = valid ? file.valid_predicted : file.train_predicted;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (marks.has(static_cast<std::int64_t>(i))) answers.push_back(ids[i]);
    CHECK(bpe.decode(answers) == expected[valid]);
    CHECK(ids[0] == 1);
    CHECK(ids.back() == 0);
  }
  write_bytes(folder / "bad.jsonl", jsonl + "{\"text\": \"a\"}\n");
  check_error(run(folder, "--chat " + folder / "bad.jsonl" + tokenizer + " --force" + out), 3,
              "bad.jsonl: line 51 is not a document: expected an object with a list `messages`");
  check_error(run(folder, "--chat " + folder / "bad.jsonl" + " --text " + text + out), 2, "exclude each other");
  check_error(run(folder, "--text " + text + " --template chatml" + out), 2, "--chat");
  check_error(run(folder, "--chat " + folder / "bad.jsonl" + " --template phi" + out), 2, "phi");
}
