// Tests of the tokenizer in the forms of the families' files, against ids made by HuggingFace's library (forms.json).
#include <doctest/doctest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/character_class.h"
#include "engine/data/tokenizer/composed_form.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/sha256.h"
#include "engine/io/utf8.h"
#include "engine/rng.h"
#include "engine/threads.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"

using namespace sink;

namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

const std::string kFolder = std::string(SINK_SOURCE_DIR) + "/tests/golden/tokenizer/";

const Json& forms() {
  static const Json file = Json::parse(read_bytes(kFolder + "forms.json"));
  return file;
}

Json file_of(const std::string& form) {
  Json file = Json::parse(read_bytes(kFolder + "tokenizer.json"));
  file.merge_patch(forms().at("forms").at(form).at("patch"));
  return file;
}

Tokenizer tokenizer_of(const Json& file) { return Tokenizer(parse_tokenizer_json(file.dump(), "tokenizer.json")); }

std::string hash_of(const Ids& ids) {
  std::string text;
  for (std::int32_t id : ids) {
    if (!text.empty()) text += ' ';
    text += std::to_string(id);
  }
  return sha256_hex(text);
}

double seconds_of(const std::function<void()>& work) {
  std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("tokenizer forms: the ids of HuggingFace's library, and after writing and reading again") {
  const auto texts = forms().at("texts").get<std::vector<std::string>>();
  const auto sample = forms().at("sample").get<std::string>();
  CHECK(forms().at("forms").size() == 20);
  for (const auto& [name, golden] : forms().at("forms").items()) {
    CAPTURE(name);
    Tokenizer read = tokenizer_of(file_of(name));
    Tokenizer again(parse_tokenizer_json(read.json(), "written"));
    CHECK(again.json() == read.json());
    for (const Tokenizer& tokenizer : {read, again}) {
      EncodeCache cache;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!test::in_turn()) continue;
        CAPTURE(texts[i]);
        CHECK(tokenizer.encode(texts[i]) == golden.at("ids")[i].get<Ids>());
        CHECK(tokenizer.encode(texts[i], cache) == golden.at("ids")[i].get<Ids>());
      }
      CHECK(hash_of(tokenizer.encode(sample, cache)) == golden.at("sample").get<std::string>());
      CHECK(hash_of(tokenizer.encode(sample, cache)) == golden.at("sample").get<std::string>());  // with a full cache
      CHECK(tokenizer.encode_with_special_tokens(texts[3], cache) == golden.at("special").get<Ids>());
    }
  }
}

TEST_CASE("tokenizer forms: an added token may begin in white space that the one before it takes") {
  Json file = Json::parse(read_bytes(kFolder + "tokenizer.json"));
  auto added = [](std::int32_t id, const char* content, bool left, bool right) {
    return Json{{"id", id},         {"content", content},  {"lstrip", left}, {"rstrip", right}, {"normalized", false},
                {"special", false}, {"single_word", false}};
  };
  file["added_tokens"] = {added(600, "<a>", true, true), added(601, " <b>", false, false),
                          added(602, "  ", false, false), added(603, "\n<c>", true, false)};
  const Tokenizer tokenizer = tokenizer_of(file);
  // By tokenizers 0.23.
  const std::pair<const char*, Ids> cases[] = {
      {"x <a> <b> y", {89, 600, 601, 328}}, {"<a>  <b>", {600, 602, 29, 67, 31}}, {"<a>   x", {600, 602, 222, 89}},
      {"<a>    x", {600, 602, 602, 89}},    {"<a> \n<c>x", {600, 603, 89}},       {"<a>\n\n<c>x", {600, 603, 89}}};
  for (const auto& [text, ids] : cases) {
    CAPTURE(text);
    CHECK(tokenizer.encode(text) == ids);
  }
  file["added_tokens"][2]["rstrip"] = true;
  [[maybe_unused]] const double seconds =
      seconds_of([&] { CHECK(tokenizer_of(file).encode(std::string(2'000'000, ' ')).size() == 1'000'000); });
#ifdef NDEBUG
  CHECK(seconds < 4);  // a quadratic step takes minutes
#endif
}

TEST_CASE("tokenizer forms: added tokens whose ids the tokenizers package ignores are refused") {
  const TemporaryFolder folder;
  auto load = [&](const Json& file) {
    write_bytes(folder / "tokenizer.json", file.dump());
    return error_of([&] { Tokenizer::load(folder / "tokenizer.json"); });
  };
  auto with_ids = [&](std::int64_t a, std::int64_t b) {
    Json file = Json::parse(read_bytes(kFolder + "tokenizer.json"));  // of 600 tokens
    file["added_tokens"] = Json::array();
    for (const auto& [content, id] : {std::pair{"<a>", a}, {"<b>", b}})
      file["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}, {"normalized", false}});
    return file;
  };
  CHECK(load(with_ids(600, 601)) == "no error");
  Json inside = with_ids(601, 602);
  inside["model"]["vocab"]["<a>"] = 601;  // 601 tokens, and 602 is after the largest added one
  CHECK(load(inside) == "no error");
  CHECK(contains(load(with_ids(601, 600)), "`<a>` has the id 601, and the tokenizers package gives it 600"));
  CHECK(contains(load(with_ids(600, 605)), "`<b>` has the id 605, and the tokenizers package gives it 601"));
  Json twice = with_ids(600, 601);
  twice["added_tokens"][1]["content"] = "<a>";
  CHECK(contains(load(twice), "`<a>` has the id 601, and the tokenizers package gives it 600"));
}

TEST_CASE("tokenizer forms: vocabulary and merges in files of their own, as GPT-2's and OPT's") {
  TemporaryFolder folder;
  const Json whole = Json::parse(read_bytes(kFolder + "tokenizer.json")).at("model");
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : whole.at("merges"))
    merges += merge.is_string() ? merge.get<std::string>() + "\n"
                                : merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  Json vocabulary = whole.at("vocab");
  std::string text = "It's <|endoftext|> a </s><pad> \u00e9\n";

  write_bytes(folder / "encoder.json", vocabulary.dump());
  CHECK(contains(error_of([&] { Tokenizer::load(folder / "encoder.json"); }), "expected vocab.bpe or merges.txt"));
  write_bytes(folder / "vocab.bpe", merges);
  Tokenizer gpt2 = Tokenizer::load(folder / "encoder.json");
  EncodeCache cache, opts;
  CHECK(gpt2.encode(text) == Tokenizer::load(kFolder + "tokenizer.json").encode(text));
  CHECK(gpt2.encode_with_special_tokens(text, cache) == gpt2.encode(text));
  CHECK(gpt2.end_of_text() == 0);

  vocabulary["</s>"] = 600;
  vocabulary["<pad>"] = 601;
  std::filesystem::remove(folder / "vocab.bpe");
  write_bytes(folder / "vocab.json", vocabulary.dump());
  write_bytes(folder / "merges.txt", merges);
  Tokenizer opt = Tokenizer::load(folder / "vocab.json");
  CHECK(opt.end_of_text() == 600);
  Ids ids = opt.encode("a</s><pad>b");
  CHECK(ids == Ids{opt.encode("a")[0], 600, 601, opt.encode("b")[0]});
  ids.insert(ids.begin(), 600);
  CHECK(opt.encode_with_special_tokens("a</s><pad>b", opts) == ids);
  CHECK(opt.encode("<|endoftext|>").size() > 1);
  write_bytes(folder / "merges.txt", merges + "nospace\n");
  CHECK(contains(error_of([&] { Tokenizer::load(folder / "vocab.json"); }), "expected two parts"));
}

TEST_CASE(
    "tokenizer forms: letters, numbers, white space, digits, case, marks and punctuation are the package's, on all of "
    "Unicode") {
  std::string classes(0x110000, '\0');
  for (std::uint32_t code = 1; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    classes[code] = static_cast<char>(character_classes()[code] & ~kInWord);
  }
  CHECK(sha256_hex(classes) == forms().at("classes").get<std::string>());
}

TEST_CASE("tokenizer forms: NFC is the package's, on all of Unicode") {
  std::vector<std::string> decomposed(1);
  for (char c : forms().at("decomposed").get<std::string>()) {
    if (c == '\n') {
      decomposed.emplace_back();
    } else {
      decomposed.back() += c;
    }
  }
  std::string all, room;
  auto add = [&](const std::string& text) { all.append(composed_form(text, room)).append("\n"); };
  std::size_t used = 0;
  for (std::uint32_t code = 0x20; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string c;
    append_utf8(c, code);
    for (const std::string& text : {c, c + "\u0334", "\u0345" + c, "e" + c + "\u0301", c + "\u1161\u11a8"}) add(text);
    // Whatever has a decomposition is next in the list of them.
    if (used < decomposed.size() && forms().at("decomposed_codes")[used] == code) add(decomposed[used++]);
  }
  CHECK(used == decomposed.size());
  CHECK(sha256_hex(all) == forms().at("composed").get<std::string>());
}

TEST_CASE("tokenizer forms: merging equals the definition, for short pieces and long ones") {
  BpeModel model = parse_tokenizer_json(read_bytes(kFolder + "tokenizer.json"), "tokenizer.json");
  BpeRules rules(model);
  Rng rng(5, "pieces");
  std::uint64_t drawn = 0;
  for (int round = 0; round < (test::is_short() ? 10 : 60); ++round) {
    std::string piece;
    std::uint64_t length = 1 + rng.below(drawn++, 120), letters = 2 + rng.below(drawn++, 24);
    while (piece.size() < length) piece += " etainoshrdlucmfgypwbvkxj"[rng.below(drawn++, letters)];
    Ids expected, ids;
    for (char c : piece) expected.push_back(model.id_of_byte[static_cast<unsigned char>(c)]);
    for (bool merged = true; merged;) {  // the first rule that fits, at the first place where it does
      merged = false;
      for (std::size_t rank = 0; rank < model.merges.size() && !merged; ++rank) {
        for (std::size_t i = 0; i + 1 < expected.size() && !merged; ++i) {
          merged = expected[i] == model.merges[rank].left && expected[i + 1] == model.merges[rank].right;
          if (merged) {
            expected[i] = model.merges[rank].result;
            expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          }
        }
      }
    }
    rules.encode(piece, ids);
    CAPTURE(piece);
    CHECK(ids == expected);
  }
}

TEST_CASE("tokenizer forms: a megabyte of one thing takes about four times what a quarter takes") {
  std::vector<std::string> units = {"a",      " ", "\n", "\u00a0", "-",   "1",          "\u0301",      "\u0301\u0323",
                                    "\u1161", "'", "<|", "\u4e2d", " \n", "\U0001f600", "<|padding|>", "<right>"};
  for (const char* form : {"gptneox", "llama3", "added"}) {
    Tokenizer tokenizer = tokenizer_of(file_of(form));
    for (const std::string& unit : units) {
      CAPTURE(form);
      CAPTURE(unit);
      std::string text;
#ifdef NDEBUG
      while (text.size() < 1'000'000) text += unit;
      CHECK(seconds_of([&] { tokenizer.encode(text); }) < 1.5);  // about 0.1; a quadratic step takes minutes
#else
      while (text.size() < 100'000) text += unit;
      tokenizer.encode(text);
#endif
    }
  }
}

TEST_CASE("tokenizer forms: a hostile token is no longer than its file allows") {
  Json file = file_of("gpt2");
  auto refusal = [&] { return error_of([&] { tokenizer_of(file); }); };
  file["added_tokens"][0]["content"] = std::string(1025, 'a');
  CHECK(contains(refusal(), "an added token has 1025 bytes, at most 1024"));
  file["added_tokens"][0]["content"] = "";
  CHECK(contains(refusal(), "an added token is empty"));
}

TEST_CASE("tokenizer forms: what is not supported is refused by its name") {
  auto with = [](const char* pointer, const Json& value) {
    Json file = file_of("gpt2");
    file[Json::json_pointer(pointer)] = value;
    return error_of([&] { tokenizer_of(file); });
  };
  auto one = [](const char* type) { return Json{{"type", type}}; };
  auto list = [](const char* key, const Json& a, const Json& b) { return Json{{"type", "Sequence"}, {key, {a, b}}}; };
  Json split = {{"type", "Split"}, {"pattern", {{"Regex", "\\p{L}+"}}}, {"behavior", "Isolated"}, {"invert", false}};
  Json known = split;
  known["pattern"]["Regex"] = kLlama3Pattern;
  auto pre = [&](const Json& step) { return with("/pre_tokenizer", list("pretokenizers", step, one("ByteLevel"))); };
  CHECK(pre(known) == "no error");
  CHECK(contains(pre(split), "the pre-tokenizer Split is not by the pattern of GPT-2, LLaMA 3"));
  for (const char* behavior : {"Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
    Json other = known;
    other["behavior"] = behavior;
    CHECK(contains(pre(other), "isolated"));
  }
  known["invert"] = true;
  CHECK(contains(pre(known), "isolated"));
  CHECK(contains(pre(one("Metaspace")), "Metaspace"));
  CHECK(contains(with("/pre_tokenizer", list("pretokenizers", one("ByteLevel"), one("Digits"))), "as the last one"));
  CHECK(contains(with("/pre_tokenizer", one("Whitespace")), "\"Whitespace\"} is not supported"));
  CHECK(contains(with("/normalizer", list("normalizers", one("NFC"), one("Lowercase"))), "Lowercase"));
  CHECK(contains(with("/normalizer", one("NFKC")), "NFKC"));
  CHECK(contains(with("/post_processor", one("BertProcessing")), "BertProcessing"));
  CHECK(contains(with("/model/byte_fallback", true), "byte_fallback"));
  CHECK(contains(with("/model/dropout", 0.1), "dropout"));
  CHECK(contains(with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix"));
  CHECK(contains(with("/model/continuing_subword_prefix", "##"), "continuing_subword_prefix"));
  CHECK(contains(with("/model/unk_token", "<none>"), "the unk_token `<none>` is not in the vocabulary"));
  CHECK(contains(with("/truncation", {{"max_length", 5}}), "truncation"));
  CHECK(contains(with("/padding", {{"strategy", "BatchLongest"}}), "padding"));
  Json around = file_of("opt").at("post_processor");
  around["special_tokens"]["<|endoftext|>"]["ids"] = {9999};
  CHECK(contains(with("/post_processor", around), "9999 is not in the vocabulary"));
  around = file_of("opt").at("post_processor");
  around["single"] = {around["single"][0]};
  CHECK(contains(with("/post_processor", around), "has no text"));
}

TEST_CASE("tokenizer forms: bytes without a token are counted") {
  CHECK(tokenizer_of(file_of("gpt2")).bytes_without_token() == 0);
  CHECK(tokenizer_of(file_of("smollm")).bytes_without_token() == 3);
}

TEST_CASE("tokenizer forms: training does not depend on the number of threads") {
  std::string sample = forms().at("sample").get<std::string>();
  std::vector<std::string_view> documents;
  for (std::size_t at = 0; at < sample.size(); at += documents.back().size())
    documents.push_back(utf8_prefix(std::string_view(sample).substr(at), 50));
  std::string first = Tokenizer::train(documents, 700).json();
  int before = thread_count();
  for (int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    CHECK(Tokenizer::train(documents, 700).json() == first);
  }
  set_thread_count(before);
}
