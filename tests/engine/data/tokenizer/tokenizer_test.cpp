// Tests of the tokenizer against ids and merges made by HuggingFace's library (tests/golden/tokenizer).
#include "engine/data/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/pre_tokenize.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/bounded_json.h"
#include "engine/io/utf8.h"
#include "engine/rng.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

const std::string kGolden = std::string(SINK_SOURCE_DIR) + "/tests/golden/tokenizer/";

nlohmann::json golden() { return nlohmann::json::parse(read_bytes(kGolden + "golden.json")); }

}  // namespace

TEST_CASE("Tokenizer: a tokenizer.json of HuggingFace gives its ids, and they decode to the text") {
  Tokenizer tokenizer = Tokenizer::load(kGolden + "tokenizer.json");
  CHECK(tokenizer.vocabulary() == 602);
  CHECK(tokenizer.end_of_text() == 0);
  EncodeCache cache;
  const nlohmann::json file = golden();
  for (const auto& item : file.at("cases")) {
    auto text = item.at("text").get<std::string>();
    auto ids = item.at("ids").get<std::vector<std::int32_t>>();
    CAPTURE(text);
    CHECK(tokenizer.encode(text) == ids);
    CHECK(tokenizer.encode(text, cache) == ids);  // the cache does not change what comes out,
    CHECK(tokenizer.encode(text, cache) == ids);  // filled or not
    CHECK(tokenizer.decode(ids) == text);
  }
}

TEST_CASE("Tokenizer: training finds the merges that HuggingFace finds, in the same order") {
  std::string text = read_bytes(kGolden + "training.txt");
  BpeModel model = train_bpe({text}, 600);
  CHECK(model.bytes.size() == 600);
  auto merges = golden().at("merges").get<std::vector<std::string>>();
  REQUIRE(model.merges.size() == merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    auto spelt = [&](std::int32_t id) { return encode_bytes(model.bytes[static_cast<std::size_t>(id)]); };
    CHECK(spelt(model.merges[i].left) + " " + spelt(model.merges[i].right) == merges[i]);
  }
}

TEST_CASE("Tokenizer: training by hand") {
  // Pairs of "abababab x": ab 4, ba 3, " x" 1. After ab -> Z: ZZ 3, then after ZZ -> Y: YY 1, " x" 1; of these two " x"
  // has the smaller left id (the space, 222).
  std::vector<std::string_view> texts = {"abababab x"};
  BpeModel model = train_bpe(texts, 262);
  REQUIRE(model.bytes.size() == 262);
  CHECK(model.bytes[0] == "<|endoftext|>");
  CHECK(model.bytes[1] == "<|padding|>");
  CHECK(model.bytes[2] == "!");
  CHECK(model.bytes[222] == " ");
  CHECK(model.bytes[258] == "ab");
  CHECK(model.bytes[259] == "abab");
  CHECK(model.bytes[260] == " x");
  CHECK(model.bytes[261] == "abababab");
  CHECK(train_bpe(texts, 1000).bytes.size() == 262);  // no pair is left
  CHECK(contains(error_of([&] { train_bpe(texts, 257); }), "exit 2 a vocabulary has 258 to"));
}

TEST_CASE("Tokenizer: saved and loaded it is the same") {
  TemporaryFolder folder;
  std::string path = folder / "tokenizer.json";
  std::string text = read_bytes(kGolden + "training.txt");
  for (bool trained : {true, false}) {
    Tokenizer tokenizer = trained ? Tokenizer::train({text}, 400) : Tokenizer::load(kGolden + "tokenizer.json");
    tokenizer.save(path);
    Tokenizer again = Tokenizer::load(path);
    CHECK(again.json() == tokenizer.json());
    CHECK(again.encode(text) == tokenizer.encode(text));
    Tokenizer copy = again;
    again = Tokenizer::train({"x"}, 258);
    CHECK(copy.encode("a  b<|endoftext|>") == tokenizer.encode("a  b<|endoftext|>"));
  }
  CHECK(contains(error_of([&] { Tokenizer::load(folder / "none.json"); }), "exit 3"));
  CHECK(contains(error_of([&] { Tokenizer::train({text}, 300).save(folder / "no/x.json"); }), "exit 8"));
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("Tokenizer: what is not byte-level BPE is rejected with a reason") {
  TemporaryFolder folder;
  std::string path = folder / "tokenizer.json";
  auto load = [&](const std::string& json) {
    write_bytes(path, json);
    return error_of([&] { Tokenizer::load(path); });
  };
  std::string good = read_bytes(kGolden + "tokenizer.json");
  auto with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json file = nlohmann::json::parse(good);
    file[nlohmann::json::json_pointer(pointer)] = value;
    return load(file.dump());
  };
  CHECK(load(good) == "no error");
  CHECK(contains(load(good.substr(0, good.size() / 2)), "exit 3 "));
  CHECK(contains(load("[]"), "exit 3"));
  CHECK(contains(load("{}"), "exit 3"));
  CHECK(contains(with("/model/type", "Unigram"), "the model is \"Unigram\""));
  CHECK(contains(with("/model/byte_fallback", true), "byte_fallback"));
  CHECK(contains(with("/pre_tokenizer", nullptr), "pre-tokenizer"));
  CHECK(contains(with("/normalizer", {{"type", "Lowercase"}}), "normalizer"));
  CHECK(contains(with("/model/merges/0", "nospace"), "expected two parts"));
  CHECK(contains(with("/model/merges/0", "qqqq zzzz"), "not in the vocabulary"));
  CHECK(contains(with("/model/vocab/!", -5), "expected a token id from 0 to "));
  CHECK(contains(with("/model/vocab/!", 1.5), "got 1.5"));
  // Both were accepted, and text with the lost byte became the id -1.
  nlohmann::json twice = nlohmann::json::parse(good);
  std::int64_t id_of_a = twice["model"]["vocab"]["a"].get<std::int64_t>();
  CHECK(contains(with("/model/vocab/!", id_of_a), "two tokens have the id " + std::to_string(id_of_a)));
  twice["added_tokens"].push_back({{"id", 599}, {"content", "\u0120"}});
  CHECK(contains(load(twice.dump()), "exit 3"));
  CHECK(contains(with("/model/vocab/!", (std::int64_t{1} << 32) + 5), "got 4294967301"));  // not cut to 5
  CHECK(contains(with("/added_tokens/0/id", (std::int64_t{1} << 32)), "got 4294967296"));
  // Ids that a file of this size cannot hold would make a table of a gigabyte.
  CHECK(contains(with("/model/vocab/!", 16'000'000), "got 16000000"));
  CHECK(with("/normalizer", {{"type", "NFC"}}) == "no error");
  std::filesystem::remove(path);
}

TEST_CASE("Tokenizer: a tokenizer.json made to do harm is refused in one short line") {
  auto refusal = [](const std::string& json) {
    return error_of([&] { parse_tokenizer_json(json, "tokenizer.json"); });
  };
  std::string model = R"({"model": {"type": "BPE"}, "pre_tokenizer": {"type": "ByteLevel"}, "normalizer": )";
  for (std::size_t depth : {100, 100000, 3000000}) {
    CHECK(contains(refusal(std::string(depth, '[')), "nests lists and objects more than 64 deep"));
    std::string deep = std::string(depth, '[') + std::string(depth, ']');
    CHECK(contains(refusal(model + deep + "}"), "nests lists and objects more than 64 deep"));
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
    CHECK(contains(refusal(objects), "nests lists and objects more than 64 deep"));
  }
  std::string wide = model + "[\"" + std::string(1 << 20, 'x') + "\"]}";
  CHECK(contains(refusal(wide), "exit 3"));
  CHECK(refusal(wide).size() < 400);
}

TEST_CASE("bounded JSON: depth is counted outside of strings") {
  auto depth = [](const char* text) { return json_depth(text, 1000); };
  CHECK(depth("") == 0);
  CHECK(depth("17") == 0);
  CHECK(depth(R"({"a": [1, {"b": []}], "c": [[]]})") == 4);
  CHECK(depth(R"(["[[[[", "\"[[[", {"]]\\": 1}])") == 2);
  CHECK(depth("[\"") == 1);
  CHECK(depth("[\"\\") == 1);
  CHECK(depth("]]]][") == 1);
  CHECK(json_depth(std::string(5000, '['), 7) == 7);
  CHECK(parse_bounded_json(std::string(64, '[') + std::string(64, ']')).is_array());
  CHECK_THROWS_AS(parse_bounded_json(std::string(65, '[') + std::string(65, ']')), JsonFailure);
  CHECK_THROWS_WITH_AS(parse_bounded_json("[1, 2]", 5), "it has 6 bytes, at most 5 are read", JsonFailure);
}

TEST_CASE("Tokenizer: labels are printable") {
  Tokenizer tokenizer = Tokenizer::train({"x"}, 258);
  auto label = [&](const std::string& byte) { return tokenizer.token_text(tokenizer.encode(byte).at(0)); };
  CHECK(tokenizer.token_text(0) == "<|endoftext|>");
  CHECK(label("a") == "a");
  CHECK(label(" ") == " ");
  CHECK(label("\n") == "\\n");
  CHECK(label("\x1b") == "\\x1b");
  CHECK(label("\u00e9") == "\\xc3");  // the first of its two bytes
  CHECK(Tokenizer::load(kGolden + "tokenizer.json").token_text(600) == "    ");
  CHECK(contains(error_of([&] { tokenizer.token_text(258); }), "outside the vocabulary of 258"));
  CHECK(contains(error_of([&] { tokenizer.decode(std::vector<std::int32_t>{-1}); }), "outside the vocabulary"));
}

TEST_CASE("Tokenizer: an id beyond the vocabulary has no text") {
  Tokenizer tokenizer = Tokenizer::train({"x"}, 258);
  std::vector<std::int32_t> ids = tokenizer.encode("ab");
  ids.insert(ids.begin() + 1, {258, 9999});
  ids.push_back(258);
  CHECK(tokenizer.decode(ids) == "ab");
  CHECK(tokenizer.decode(std::vector<std::int32_t>{258}).empty());
}

TEST_CASE("Tokenizer: text that is not UTF-8 is an error that names the byte") {
  Tokenizer tokenizer = Tokenizer::train({"x"}, 258);
  CHECK(contains(error_of([&] { tokenizer.encode("abc\xff"); }), "exit 3 the text is not UTF-8 at byte 3"));
}

TEST_CASE("Tokenizer: a piece of a million equal bytes takes no quadratic time") {
  Tokenizer tokenizer = Tokenizer::load(kGolden + "tokenizer.json");
  for (char c : {'-', 'x', '\n'}) {
    std::string text(1'000'000, c);
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
}

namespace {

// Byte pair encoding as it is defined, recounting everything at every step.
std::vector<std::pair<std::int32_t, std::int32_t>> merges_by_recounting(const std::string& text,
                                                                        std::int64_t vocabulary) {
  std::vector<std::string_view> pieces;
  pre_tokenize(text, pieces);
  BpeModel bytes = train_bpe({"x"}, 258);  // the alphabet alone
  std::vector<std::vector<std::int32_t>> words;
  for (std::string_view piece : pieces) {
    words.emplace_back();
    for (char c : piece) words.back().push_back(Tokenizer(bytes).encode(std::string(1, c)).at(0));
  }
  std::vector<std::string> spelling = bytes.bytes;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;
  while (static_cast<std::int64_t>(spelling.size()) < vocabulary) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> counts;
    for (const auto& word : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    auto best = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; });
    if (best == counts.end()) break;
    auto [left, right] = best->first;  // of equals the first in order
    std::string made = spelling[static_cast<std::size_t>(left)] + spelling[static_cast<std::size_t>(right)];
    auto known = std::find(spelling.begin(), spelling.end(), made);
    auto id = static_cast<std::int32_t>(known - spelling.begin());
    if (known == spelling.end()) spelling.push_back(made);
    merges.emplace_back(left, right);
    for (auto& word : words) {
      std::vector<std::int32_t> merged;
      for (std::size_t i = 0; i < word.size(); ++i) {
        bool here = i + 1 < word.size() && word[i] == left && word[i + 1] == right;
        merged.push_back(here ? id : word[i]);
        i += here;
      }
      word = merged;
    }
  }
  return merges;
}

}  // namespace

TEST_CASE("Tokenizer: training finds what recounting every pair at every step finds") {
  Rng rng(3, "texts of few letters");
  std::uint64_t drawn = 0;
  for (int round = 0; round < 40; ++round) {
    std::string text;
    std::uint64_t letters = 1 + rng.below(drawn++, 4), length = 1 + rng.below(drawn++, 300);
    bool blanks = round % 2 == 0;
    while (text.size() < length) {
      std::uint64_t letter = rng.below(drawn++, letters + (blanks ? 1 : 0));
      text += letter == letters ? ' ' : static_cast<char>('a' + letter);
    }
    CAPTURE(text);
    BpeModel model = train_bpe({text}, 300);
    std::vector<std::pair<std::int32_t, std::int32_t>> merges;
    for (const BpeMerge& merge : model.merges) merges.emplace_back(merge.left, merge.right);
    CHECK(merges == merges_by_recounting(text, 300));
  }
}

TEST_CASE("Tokenizer: text without a blank is learnt and encoded in seconds") {
  Rng rng(4, "letters");
  std::string text(1'000'000, 'a');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + rng.below(i, 26));
  std::clock_t start = std::clock();  // of the processor: neighbours do not count
  Tokenizer tokenizer = Tokenizer::train({text}, 65536);
  CHECK(tokenizer.vocabulary() == 65536);
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE("a million letters, 65536 tokens: " << seconds << " s");
#ifdef NDEBUG
  CHECK(seconds < 10);  // about 1.5; where every merge walks through every word that has it, 23
#endif
}

TEST_CASE("pre_tokenize: a piece of more than a megabyte is cut between characters") {
  std::string text = "x";
  while (text.size() < 3 * kLongestPiece) text += "\u65e5";
  std::vector<std::string_view> pieces;
  pre_tokenize(text, pieces);
  std::string joined;
  CHECK(pieces.size() == 4);
  for (std::string_view piece : pieces) {
    CHECK(piece.size() <= kLongestPiece);
    CHECK(utf8_valid_prefix(piece) == piece.size());
    joined += piece;
  }
  CHECK(joined == text);
}

TEST_CASE("utf8_valid_prefix: finds the first byte that is not UTF-8") {
  auto valid = [](const std::string& text) { return utf8_valid_prefix(text); };
  CHECK(valid("") == 0);
  CHECK(valid("plain ASCII text, longer than eight bytes") == 41);
  CHECK(valid("\u00e9\u65e5\U0001f642\U0010ffff") == 13);
  for (std::string bad :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe6\x97", "\xf0\x9f\x99", "\xc3(", "\xe6\x97("}) {
    CHECK(valid("0123456789" + bad) == 10);
    CHECK(valid("0123456789" + bad + " and more") == 10);
  }
}

TEST_CASE("byte alphabet: 256 different characters, and back") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(decode_bytes(encode_bytes(all)) == all);
  CHECK(encode_bytes(" \n") == "\u0120\u010a");  // as in GPT-2
  CHECK(encode_bytes("a\u00e9") == "a\u00c3\u00a9");
  CHECK(!decode_bytes("\u65e5"));
  CHECK(!decode_bytes(" "));
}

TEST_CASE("pre_tokenize: the pieces of GPT-2's pattern") {
  std::vector<std::string_view> pieces;
  pre_tokenize("I'll go  to 42nd St.\n\n!? ", pieces);
  CHECK(pieces ==
        std::vector<std::string_view>{"I", "'ll", " go", " ", " to", " 42", "nd", " St", ".", "\n", "\n", "!?", " "});
}
