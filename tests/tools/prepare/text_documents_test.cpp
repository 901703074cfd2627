// Tests of the readers of `prepare`: packed files unpack to what was packed, and damage, bombs and what is no text are
// refused with their place.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/files.h"
#include "tests/support/packed.h"
#include "tools/prepare/corpus.h"

using namespace sink;

namespace {

std::string unpacked(const std::string& path, std::size_t at_once) {
  TextInput input(path);
  std::string all, piece(at_once, '\0');
  while (std::size_t got = input.read(piece.data(), piece.size())) all.append(piece, 0, got);
  return all;
}

std::vector<std::string> documents_in(const std::string& path, bool jsonl = false, const DocumentRules& rules = {}) {
  DocumentReader reader(path, jsonl, rules);
  std::vector<std::string> documents;
  for (std::string document; reader.next(document);) documents.push_back(document);
  return documents;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("text input: decompresses files of several members, with any size of read") {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60000; ++i) text += std::to_string(i * 7919 % 10007) + (i % 9 ? " " : "\n");
  std::string half = text.substr(0, 100001), rest = text.substr(100001);
  // A skippable frame, as pzstd puts in front.
  std::string skippable("\x50\x2a\x4d\x18\x02\x00\x00\x00xx", 10);
  const std::vector<std::pair<std::string, std::string>> files{{"plain", text},
                                                               {"gzip", gzipped(text)},
                                                               {"members", gzipped(half) + gzipped("") + gzipped(rest)},
                                                               {"zstd", zstd_packed(text)},
                                                               {"frames", zstd_packed(half) + zstd_packed(rest)},
                                                               {"pzstd", skippable + zstd_packed(text)}};
  for (const auto& [name, bytes] : files) {
    CAPTURE(name);
    write_bytes(folder / name, bytes);
    for (std::size_t at_once : {std::size_t{1009}, std::size_t{1} << 20})
      CHECK(unpacked(folder / name, at_once) == text);
  }
  write_bytes(folder / "nothing", "");
  CHECK(unpacked(folder / "nothing", 10).empty());
  CHECK(contains(error_of([&] { TextInput(folder / "none"); }),
                 "exit 3 " + folder / "none" + ": cannot be read: No such file"));
  CHECK(contains(error_of([&] { TextInput input(folder.path); }), "is a folder, expected a file"));
}

TEST_CASE("text input: a truncated or damaged compressed file is refused, and never read as less text") {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 900; ++i) text += std::to_string(i * 7919 % 10007) + " ";
  std::string checked(ZSTD_compressBound(text.size()), '\0');  // with a checksum, as `zstd` writes
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  checked.resize(ZSTD_compress2(context, checked.data(), checked.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  for (const std::string& good : {gzipped(text), checked}) {
    auto read = [&](const std::string& bytes) {
      write_bytes(folder / "x", bytes);
      return error_of([&] {
        if (unpacked(folder / "x", 4096) != text) throw Error("other text", Exit::failure);
      });
    };
    CHECK(read(good) == "no error");
    for (std::size_t size = 5; size < good.size(); size += 67)
      CHECK_MESSAGE(contains(read(good.substr(0, size)), "exit 3 "), size);
    CHECK(contains(read(good.substr(0, good.size() - 1)), "is truncated: it ends in the middle of"));
    for (std::size_t at = 10; at < good.size(); at += 41) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x24);
      std::string error = read(bad);
      CHECK_MESSAGE((contains(error, "exit 3 ") || error == "no error"), at, error);
    }
    CHECK(contains(read(good + "more"), "exit 3 "));
  }
}

TEST_CASE("documents: text is cut at the marks, JSONL at its lines") {
  TemporaryFolder folder;
  write_bytes(folder / "a",
              "\none\ntwo\n\n<|endoftext|>\n<|endoftext|>\r\n three <|endoftext|>\r\nx\r\n<|endoftext|>\nlast");
  CHECK(documents_in(folder / "a") == Texts{"\none\ntwo", "", " three <|endoftext|>\r\nx", "last"});
  write_bytes(folder / "b", "no mark\n\n");
  CHECK(documents_in(folder / "b") == Texts{"no mark"});
  write_bytes(folder / "c", "x\n<|endoftext|>");
  CHECK(documents_in(folder / "c") == Texts{"x"});
  write_bytes(folder / "d",
              "{\"text\": \" a\\n\\u00e9\\u0000\", \"x\": [1]}\n\n {\"text\": \"\"}\r\n{\"x\": 1, \"text\": \"b\"}");
  CHECK(documents_in(folder / "d", true) == Texts{std::string(" a\n\xc3\xa9\0", 6), "", "b"});

  // A byte order mark is no text; its bytes count.
  const std::string mark = "\xEF\xBB\xBF";
  write_bytes(folder / "marked", mark + "x" + mark + "\n<|endoftext|>\n" + mark + "y");
  CHECK(documents_in(folder / "marked") == Texts{"x" + mark, mark + "y"});
  write_bytes(folder / "marked", mark + "<|endoftext|>\nx\xff");
  CHECK(contains(error_of([&] { documents_in(folder / "marked"); }), "is not UTF-8 at byte 18"));
  write_bytes(folder / "marked", mark + "\xff");
  CHECK(contains(error_of([&] { documents_in(folder / "marked"); }), "is not UTF-8 at byte 3"));
  write_bytes(folder / "marked", mark + "{\"text\": \"x\"}\n");
  CHECK(documents_in(folder / "marked", true) == Texts{"x"});

  // Lines and documents that are longer than one read.
  std::string longer(700000, 'y'),
      text = longer + "\n<|endoftext|>\n" + longer + "\n" + longer + "\n<|endoftext|>\nz\n";
  write_bytes(folder / "e", text);
  CHECK(documents_in(folder / "e") == Texts{longer, longer + "\n" + longer, "z"});
  write_bytes(folder / "f", "{\"text\": \"" + longer + "\"}\n{\"text\": \"z\"}\n");
  CHECK(documents_in(folder / "f", true) == Texts{longer, "z"});
  DocumentReader reader(folder / "e", false, {});
  for (std::string document; reader.next(document);) continue;
  CHECK(reader.bytes() == text.size());
  CHECK(reader.sha256() == sha256_hex(text));
}

TEST_CASE("documents: invalid ones are refused with their position") {
  TemporaryFolder folder;
  auto error = [&](const std::string& bytes, bool jsonl, std::size_t longest = 1000) {
    write_bytes(folder / "x", bytes);
    return error_of([&] { documents_in(folder / "x", jsonl, {.max_bytes = longest}); });
  };
  CHECK(contains(error("a\n<|endoftext|>\nb\xe9", false), "is not UTF-8 at byte 17"));
  CHECK(contains(error("a\n<|endoftext|>\n" + std::string(2, '\0'), false), "is binary (byte 16 is 0)"));
  CHECK(contains(error("{\"text\": \"a\"}\n[]\n", true),
                 "line 2 is not a document: expected an object with a text `text`"));
  CHECK(contains(error("{\"text\": 7}", true), "line 1 is not a document: expected an object"));
  CHECK(contains(error("{\"texts\": \"a\"}", true), "(--field names another)"));
  CHECK(contains(error("\n\n{\"text\": \"a", true), "line 3 is not a document: not JSON"));
  CHECK(contains(error("{\"text\": \"\\ud800\"}", true), "line 1 is not a document: not JSON"));
  CHECK(contains(error("{\"text\": \"\xe9\"}", true), "line 1 is not a document: not JSON"));
  CHECK(contains(error(std::string(100, '['), true), "more than 64 deep"));
  std::string exactly(1000, 'a');
  CHECK(error(exactly + "\n<|endoftext|>\n" + exactly.substr(0, 999) + "\n", false) == "no error");
  CHECK(contains(error("x\n<|endoftext|>\n" + exactly + "b", false),
                 "the document that begins at byte 16 is longer than 1000 bytes: put lines <|endoftext|>"));
  CHECK(contains(error(exactly.substr(500) + "\n" + exactly.substr(500) + "\n", false),
                 "the document that begins at byte 0"));
  CHECK(contains(error("{\"text\": \"" + exactly + "\"}", true), "line 1 is longer than 1000 bytes"));
}

TEST_CASE("documents: of a bomb no more is unpacked than a document may have") {
  TemporaryFolder folder;
  std::string much(std::size_t{8} << 20, 'a'), gzip = gzipped(much), zstd = zstd_packed(much), bomb;
  for (int i = 0; i < 64; ++i) bomb += gzip;  // 512 MiB out of 512 KB
  write_bytes(folder / "bomb.gz", bomb);
  bomb.clear();
  for (int i = 0; i < 64; ++i) bomb += zstd;
  write_bytes(folder / "bomb.zst", bomb);
  for (const char* name : {"bomb.gz", "bomb.zst"})
    for (bool jsonl : {false, true})
      CHECK(contains(error_of([&] { documents_in(folder / name, jsonl, {.max_bytes = std::size_t{1} << 20}); }),
                     "is longer than 1048576 bytes"));
}

TEST_CASE("text sample: all text if it fits, otherwise the same documents in any order") {
  std::vector<Document> all;
  for (int i = 0; i < 1000; ++i) {
    std::string text = "document " + std::to_string(i);
    text.resize(100, '.');
    all.push_back({text, 0, key_of(text)});
  }
  auto sampled = [&](std::size_t most, bool backwards, bool& is_all) {
    TextSample sample(most);
    for (std::size_t i = 0; i < all.size(); ++i) sample.add(all[backwards ? all.size() - 1 - i : i]);
    is_all = sample.is_all();
    Texts texts;
    for (const Document& document : sample.documents()) texts.push_back(document.text);
    if (backwards) std::reverse(texts.begin(), texts.end());
    return texts;
  };
  bool is_all = false;
  CHECK(sampled(100000, false, is_all).size() == 1000);
  CHECK(is_all);
  Texts some = sampled(30000, false, is_all);
  CHECK_FALSE(is_all);
  CHECK(some.size() <= 300);
  CHECK(some.size() > 120);  // 250 are expected below a quarter of all keys, half as many if they just do not fit
  CHECK(sampled(30000, true, is_all) == some);
}

TEST_CASE("corpus: names, weights and files") {
  CorpusDomain domain = parse_domain("a=x.txt,y:z/w:2.5", "/in", "--domain");
  CHECK(domain.name == "a");
  CHECK(domain.paths == Texts{"/in/x.txt", "/in/y:z/w"});
  CHECK(domain.weight == 2.5);
  CHECK(parse_domain("a=/x:y", "/in", "").paths == Texts{"/x:y"});
  CHECK(parse_domain("a=/x:y", "/in", "").weight == 0);
  for (const char* text : {"a", "=x", "a=", "a=x,,y", "a=x:0", "a=x:-1", "a=x:1e9"})
    CHECK_MESSAGE(contains(error_of([&] { parse_domain(text, ".", "--domain"); }), "exit 2 --domain"), text);
  CHECK(read_mixture("a = \"x:1\"\n# b\nb = 'y'\n", ".", "m.toml").size() == 2);
  CHECK(contains(error_of([&] { read_mixture("[a]\n", ".", "m.toml"); }), "exit 3 m.toml: line 1"));
  CHECK(contains(error_of([&] { read_mixture("", ".", "m.toml"); }), "m.toml has no domains"));
  CHECK(is_jsonl("a.jsonl.zst"));
  CHECK(is_text("a.txt.gz"));
  CHECK_FALSE(is_text("SOURCES"));
  CHECK_FALSE(is_text("a.gz"));
}
