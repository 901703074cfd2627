// Tests of tokenizers whose tokens are characters, against ids and texts made by HuggingFace's library and
// SentencePiece (tests/golden/tokenizer/characters.json).
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/gguf_vocabulary.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/data/tokenizer/scored_vocabulary.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/utf8.h"
#include "engine/rng.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"

using namespace sink;

namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

const std::string kFolder = std::string(SINK_SOURCE_DIR) + "/tests/golden/tokenizer/";

const Json& golden() {
  static const Json file = Json::parse(read_bytes(kFolder + "characters.json"));
  return file;
}

Json file_of(const std::string& form) {
  Json file = golden().at("base");
  file.merge_patch(golden().at("forms").at(form).at("patch"));
  return file;
}

Tokenizer tokenizer_of(const Json& file) { return Tokenizer(parse_tokenizer_json(file.dump(), "tokenizer.json")); }

Tokenizer written_again(const Tokenizer& tokenizer) {
  Tokenizer again(parse_tokenizer_json(tokenizer.json(), "written"));
  CHECK(again.json() == tokenizer.json());
  return again;
}

GgufVocabulary gguf_of(const Json& scored) {
  GgufVocabulary values;
  values.model = "llama";
  values.tokens = scored.at("tokens").get<std::vector<std::string>>();
  values.scores = scored.at("scores").get<std::vector<float>>();
  values.token_types = scored.at("types").get<std::vector<std::int32_t>>();
  values.add_space_prefix = scored.at("space_prefix").get<bool>();
  return values;
}

// As llama2.c's export.py writes it.
std::string llama2c_of(const Json& scored) {
  std::string bytes(4, '\0');
  std::int32_t longest = 0;
  auto put = [&](const void* value) { bytes.append(static_cast<const char*>(value), 4); };
  for (std::size_t id = 0; id < scored.at("tokens").size(); ++id) {
    std::string token;
    append_spaced(scored.at("tokens")[id].get<std::string>(), token);
    if (id == 1 || id == 2) token = "\n" + token + "\n";
    auto score = scored.at("scores")[id].get<float>();
    auto length = static_cast<std::int32_t>(token.size());
    longest = std::max(longest, length);
    put(&score);
    put(&length);
    bytes += token;
  }
  std::memcpy(bytes.data(), &longest, 4);
  return bytes;
}

// Random text of what the tokenizer's texts have, and of any other characters but U+2581.
std::string random_text(Rng& rng, std::uint64_t& drawn) {
  static const std::vector<std::string> frequent = {" ",  " ",  "  ",    "the",    "e",     "t",
                                                    "\n", "\t", "other", "\u4e2d", "\u00e9"};
  std::string text;
  for (std::uint64_t length = rng.below(drawn++, 40); length > 0; --length) {
    if (rng.below(drawn++, 5) > 0) {
      text += frequent[rng.below(drawn++, frequent.size())];
    } else {
      auto code = static_cast<std::uint32_t>(1 + rng.below(drawn++, 0x10FFFF));
      if ((code < 0xD800 || code >= 0xE000) && code != 0x2581 && code != '<') append_utf8(text, code);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("tokens of characters: the ids and texts of HuggingFace's library, and after writing and reading again") {
  const auto texts = golden().at("texts").get<std::vector<std::string>>();
  CHECK(golden().at("forms").size() == 16);
  for (const auto& [name, form] : golden().at("forms").items()) {
    CAPTURE(name);
    Tokenizer read = tokenizer_of(file_of(name));
    for (const Tokenizer& tokenizer : {read, written_again(read)}) {
      EncodeCache cache;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!test::in_turn()) continue;
        CAPTURE(texts[i]);
        CHECK(tokenizer.encode(texts[i]) == form.at("ids")[i].get<Ids>());
        CHECK(tokenizer.encode(texts[i], cache) == form.at("ids")[i].get<Ids>());
        CHECK(tokenizer.decode(form.at("ids")[i].get<Ids>()) == form.at("decoded")[i].get<std::string>());
        Ids with_unknown = form.at("ids")[i].get<Ids>();  // decoded to the same text by HuggingFace's library
        with_unknown.insert(with_unknown.begin(), tokenizer.vocabulary());
        CHECK(tokenizer.decode(with_unknown) == form.at("decoded")[i].get<std::string>());
      }
      CHECK(tokenizer.encode_with_special_tokens(texts[3], cache) == form.at("special").get<Ids>());
    }
  }
}

TEST_CASE("tokens of characters: BPE by scores gives SentencePiece's ids, from values of GGUF and a file of llama2.c") {
  for (const auto& [name, scored] : golden().at("scored").items()) {
    CAPTURE(name);
    std::vector<Tokenizer> tokenizers{Tokenizer(gguf_model(gguf_of(scored), "a.gguf"))};
    tokenizers.push_back(written_again(tokenizers[0]));
    if (name != "gemma")  // llama2.c always adds a space
      tokenizers.emplace_back(read_llama2c_vocabulary(llama2c_of(scored), "tokenizer.bin"));
    for (const Tokenizer& tokenizer : tokenizers) {
      CHECK(tokenizer.begin_tokens() == Ids{1});
      CHECK(tokenizer.end_tokens().empty());
      CHECK(tokenizer.end_of_text() == 2);
      for (std::size_t i = 0; i < scored.at("texts").size(); ++i) {
        auto text = scored.at("texts")[i].get<std::string>();
        CAPTURE(text);
        Ids ids = scored.at("ids")[i].get<Ids>();
        CHECK(tokenizer.encode(text) == ids);
        if (name != "without bytes") CHECK(tokenizer.decode(ids) == scored.at("decoded")[i].get<std::string>());
      }
    }
  }
  GgufVocabulary values = gguf_of(golden().at("scored").at("llama"));
  values.add_bos_token = false;
  values.add_eos_token = true;
  values.eos_token_id = 0;
  Tokenizer other(gguf_model(values, "a.gguf"));
  CHECK(other.begin_tokens().empty());
  CHECK(other.end_tokens() == Ids{0});
  CHECK(other.encode("a</s>") == Ids{other.encode("a")[0], 2});
  CHECK(other.encode("</s>  a") != other.encode("</s>a"));
  values.is_phi3 = true;  // special tokens take the white space after them, but for three
  Tokenizer phi3(gguf_model(values, "a.gguf"));
  CHECK(phi3.encode("</s> \n a") == other.encode("</s>a"));
  for (const char* text : {"<s>  a", "<unk>  a"}) CHECK(phi3.encode(text) == other.encode(text));
}

TEST_CASE("tokens of characters: what is decoded is what was encoded") {
  Rng rng(3, "texts");
  std::uint64_t drawn = 0;
  std::vector<Tokenizer> tokenizers;
  for (const char* form : {"llama2", "merged bytes"}) tokenizers.push_back(tokenizer_of(file_of(form)));
  Json gemma = file_of("gemma");
  gemma["added_tokens"] = golden().at("base").at("added_tokens");
  tokenizers.push_back(tokenizer_of(gemma));
  tokenizers.emplace_back(gguf_model(gguf_of(golden().at("scored").at("llama")), "a.gguf"));
  for (const Tokenizer& tokenizer : tokenizers) {
    EncodeCache cache;
    CHECK(tokenizer.bytes_without_token() == 0);
    for (int round = 0; round < (test::is_short() ? 50 : 300); ++round) {
      std::string text = random_text(rng, drawn);
      CAPTURE(text);
      CHECK(tokenizer.decode(tokenizer.encode(text, cache)) == text);
    }
    CHECK(contains(error_of([&] { tokenizer.encode("ab\xff"); }), "not UTF-8 at byte 2"));
  }
}

TEST_CASE("tokens of characters: cutting where merges end changes no id") {
  for (const char* form : {"llama2", "gemma", "unfused", "without unknown", "some bytes", "merged bytes"}) {
    CAPTURE(form);
    BpeModel model = parse_tokenizer_json(file_of(form).dump(), "tokenizer.json");
    BpeRules rules(model);
    MergeBounds bounds(model);
    Rng rng(4, "texts");
    std::uint64_t drawn = 0;
    std::size_t cuts = 0;
    for (int round = 0; round < 300; ++round) {
      std::string text = "a";
      append_metaspaced(random_text(rng, drawn), text);
      Ids whole, cut;
      rules.merge(text, whole);
      for (std::size_t at = 0, end = 0; at < text.size(); at = end, ++cuts) {
        end = bounds.end_of(text, at);
        rules.merge(std::string_view(text).substr(at, end - at), cut);
      }
      CAPTURE(text);
      CHECK(cut == whole);
    }
    CHECK(cuts > 1000);
  }
}

TEST_CASE("tokens of characters: two megabytes of one thing take linear time") {
  Tokenizer llama2 = tokenizer_of(file_of("llama2")), gemma = tokenizer_of(file_of("gemma"));
  Tokenizer llama(gguf_model(gguf_of(golden().at("scored").at("llama")), "a.gguf"));
  for (const Tokenizer& tokenizer : {llama2, gemma, llama}) {
    for (const char* unit : {"a", " ", "e ", "ab", "\n", "the", "\u4e2d", "\u2581", "<unk", "<s>"}) {
      CAPTURE(unit);
      std::string text;
      while (text.size() < (test::is_short() ? 200'000 : 2'000'000)) text += unit;
      [[maybe_unused]] std::clock_t start = std::clock();
      CHECK(!tokenizer.encode(text).empty());
#ifdef NDEBUG
      CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC <
            4);  // at most 1; a quadratic step takes minutes
#endif
    }
  }
}

TEST_CASE("tokens of characters: what is not supported is refused by its name") {
  auto with = [](const char* pointer, const Json& value) {
    Json file = file_of("llama2");
    file[Json::json_pointer(pointer)] = value;
    return error_of([&] { tokenizer_of(file); });
  };
  auto meta = [](const char* key, const Json& value) {
    Json step = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", false}};
    step[key] = value;
    return step;
  };
  CHECK(with("/pre_tokenizer", meta("split", true)) == "no error");
  CHECK(contains(with("/pre_tokenizer", meta("replacement", "_")), "not as U+2581"));
  CHECK(contains(with("/pre_tokenizer", meta("prepend_scheme", "last")), "prepend_scheme"));
  CHECK(contains(with("/pre_tokenizer", meta("add_prefix_space", false)), "prepend_scheme"));
  CHECK(contains(with("/normalizer/normalizers/0/prepend", "_"), "the normalizer is"));
  CHECK(contains(with("/normalizer/normalizers/1/content", "_"), "the normalizer is"));
  CHECK(contains(with("/normalizer/normalizers/1/pattern", {{"Regex", " "}}), "the normalizer is"));
  CHECK(contains(with("/normalizer", {{"type", "NFKC"}}), "NFKC"));
  CHECK(contains(with("/decoder", nullptr), "the decoder does not begin with Replace"));
  CHECK(contains(with("/decoder", {{"type", "ByteLevel"}}), "the decoder does not begin with Replace"));
  CHECK(contains(with("/decoder/decoders/0/content", "_"), "the decoder does not begin with Replace"));
  CHECK(contains(with("/decoder/decoders/2", {{"type", "CTC"}}), "CTC"));
  CHECK(contains(with("/decoder/decoders/3/stop", 1), "Strip"));
  CHECK(contains(with("/decoder/decoders/3/start", -1), "Strip"));
  CHECK(contains(with("/pre_tokenizer", {{"type", "ByteLevel"}}), "normalizer"));
  CHECK(contains(with("/model/type", "Unigram"), "Unigram"));
  CHECK(contains(with("/model/ranks", {0}), "ranks of"));
  // Of three parts, where every token that two of them could mean is there.
  for (const Json& merge :
       {Json("a b c"), Json::array({"a", "b", "c"}), Json::array({"a"}), Json("a  b"), Json(" a")}) {
    Json file = file_of("llama2");
    std::int64_t id = 700;
    for (const char* token : {"a", "b", "b c", "ab", "ab c", " b", "a b", ""})
      if (!file["model"]["vocab"].contains(token)) file["model"]["vocab"][token] = id++;
    file["model"]["merges"].push_back(merge);
    const std::string message = error_of([&] { tokenizer_of(file); });
    CHECK_MESSAGE(contains(message, "expected two parts"), message);
  }
  CHECK(contains(with("/model/ranks", {-1}), "the rank of a merge is -1"));
  Json byte_level = Json::parse(read_bytes(kFolder + "tokenizer.json"));
  byte_level["decoder"] = {{"type", "WordPiece"}};
  CHECK(contains(error_of([&] { tokenizer_of(byte_level); }), "WordPiece"));
}

TEST_CASE("tokens of characters: a hostile vocabulary with scores is refused") {
  const Json& scored = golden().at("scored").at("llama");
  const GgufVocabulary sound = gguf_of(scored);
  auto refusal = [&](auto change) {
    GgufVocabulary values = sound;
    change(values);
    return error_of([&] { gguf_model(values, "a.gguf"); });
  };
  CHECK(refusal([](auto&) {}) == "no error");
  CHECK(contains(refusal([](auto& v) { v.model = "bert"; }), "`bert`; expected gpt2 or llama"));
  CHECK(contains(refusal([](auto& v) { v.scores.pop_back(); }), "a score and a type for each of its 460 tokens"));
  CHECK(contains(refusal([](auto& v) { v.token_types.clear(); }), "a score and a type for each"));
  CHECK(contains(refusal([](auto& v) { v.scores[300] = std::nanf(""); }), "token 300 has no number"));
  CHECK(contains(refusal([](auto& v) { v.token_types[300] = 7; }), "token 300 is of the unknown type 7"));
  CHECK(contains(refusal([](auto& v) { v.token_types[300] = 6; }), "token 300 is of the type byte"));
  CHECK(contains(refusal([](auto& v) { *std::ranges::find(v.tokens, "<0x3C>") = "<0x3c>"; }),
                 "but not <0x00> to <0xFF>: `<0x3c>`"));
  CHECK(
      contains(refusal([](auto& v) { v.tokens[300] = "<0x41>"; }), "token 300 is <0x41>, which is the name of a byte"));
  CHECK(contains(refusal([](auto& v) { v.tokens[300] = "\xff"; }), "token 300 is not UTF-8"));
  CHECK(contains(refusal([](auto& v) { v.tokens[300].clear(); }), "token 300 is empty"));
  CHECK(contains(refusal([](auto& v) { v.tokens[300] = v.tokens[301]; }), "token 301 is there twice"));
  CHECK(contains(refusal([](auto& v) { v.tokens[300] = std::string(1025, 'a'); }), "has 1025 bytes, at most 1024"));
  CHECK(contains(refusal([](auto& v) { v.tokens[300] = "a\u6f22"; }),
                 "token 300 has the character `\u6f22`, which is no token"));
  CHECK(contains(refusal([](auto& v) { v.bos_token_id = 460; }), "tokenizer.ggml.bos_token_id is 460"));
  CHECK(contains(refusal([](auto& v) { v.remove_extra_whitespaces = true; }), "remove_extra_whitespaces"));

  const std::string file = llama2c_of(scored);
  auto broken = [&](const std::string& bytes) {
    return error_of([&] { read_llama2c_vocabulary(bytes, "tokenizer.bin"); });
  };
  auto patched = [&](std::size_t at, std::int32_t value) {
    std::string bytes = file;
    std::memcpy(bytes.data() + at, &value, 4);
    return broken(bytes);
  };
  CHECK(broken(file) == "no error");
  CHECK(contains(broken(""), "ends inside a token"));
  CHECK(contains(broken(file.substr(0, 4)), "has 0 tokens"));
  CHECK(contains(broken(file.substr(0, file.size() - 1)), "and the file"));
  CHECK(contains(broken(file + "abc"), "ends inside a token"));
  CHECK(contains(patched(8, INT32_MAX), "token 0 has 2147483647 bytes"));
  CHECK(contains(patched(8, -1), "token 0 has -1 bytes"));
  CHECK(contains(patched(0, 3), "where the longest has 3"));
}

namespace {

// The values of a GGUF file with tokens of bytes, those of tokenizer.json.
GgufVocabulary gguf_of_bytes() {
  const Json file = Json::parse(read_bytes(kFolder + "tokenizer.json"));
  GgufVocabulary values;
  values.model = "gpt2";
  values.tokens.resize(file.at("model").at("vocab").size());
  for (const auto& [token, id] : file.at("model").at("vocab").items()) values.tokens[id.get<std::size_t>()] = token;
  values.token_types.assign(values.tokens.size(), 1);
  for (const Json& added : file.at("added_tokens")) {
    auto id = added.at("id").get<std::size_t>();
    if (id >= values.tokens.size()) {
      values.tokens.resize(id + 1);
      values.token_types.resize(id + 1, 5);
      values.tokens[id] = added.at("content");
    }
    values.token_types[id] = added.at("special").get<bool>() ? 3 : 4;
  }
  for (const Json& merge : file.at("model").at("merges"))
    values.merges.push_back(merge.is_string() ? merge.get<std::string>()
                                              : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  values.bos_token_id = 1;
  return values;
}

}  // namespace

TEST_CASE("tokens of bytes: the values of a GGUF file are the tokenizer.json they were made of") {
  const Json forms = Json::parse(read_bytes(kFolder + "forms.json"));
  GgufVocabulary values = gguf_of_bytes();
  const auto texts = forms.at("texts").get<std::vector<std::string>>();
  const std::pair<const char*, const char*> names[] = {
      {"gpt-2", "gpt2"}, {"qwen2", "qwen2"}, {"gpt-4o", "gptoss"}, {"default", "llama.cpp's default"}};
  for (const auto& [pre, form] : names) {
    CAPTURE(pre);
    values.pre = pre;
    Tokenizer tokenizer(gguf_model(values, "a.gguf"));
    CHECK(tokenizer.begin_tokens().empty());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i]);
      CHECK(tokenizer.encode(texts[i]) == forms.at("forms").at(form).at("ids")[i].get<Ids>());
      CHECK(written_again(tokenizer).encode(texts[i]) == tokenizer.encode(texts[i]));
    }
  }
  const Ids hello = Tokenizer(gguf_model(values, "a.gguf")).encode("the, other");
  values.add_space_prefix = true;  // llama.cpp ignores it
  CHECK(Tokenizer(gguf_model(values, "a.gguf")).encode("the, other") == hello);
  values.pre = "llama-bpe";
  CHECK(Tokenizer(gguf_model(values, "a.gguf")).begin_tokens() == Ids{1});
  values.bos_token_id.reset();
  CHECK(contains(error_of([&] { gguf_model(values, "a.gguf"); }), "has no tokenizer.ggml.bos_token_id"));
  values.pre = "smollm";
  CHECK(Tokenizer(gguf_model(values, "a.gguf")).encode("12").size() == 2);
  auto refusal = [&](auto change) {
    GgufVocabulary changed = values;
    change(changed);
    return error_of([&] { gguf_model(changed, "a.gguf"); });
  };
  CHECK(contains(refusal([](auto& v) { v.pre = "deepseek-llm"; }), "tokenizer.ggml.pre is `deepseek-llm`"));
  CHECK(contains(refusal([](auto& v) { v.pre = "falcon"; }), "expected a name of llama.cpp that cuts like default"));
  CHECK(contains(refusal([](auto& v) { v.merges.push_back("ab"); }), "expected two parts"));
  const std::string three = refusal([](auto& v) {
    v.tokens.insert(v.tokens.end(), {"b c", "ab c"});
    v.token_types.insert(v.token_types.end(), {4, 4});  // given by the user, which have spaces
    v.merges.push_back("a b c");
  });
  CHECK_MESSAGE(contains(three, "`a b c`; expected two parts"), three);
  CHECK(contains(refusal([](auto& v) { v.merges.push_back("zz zzz"); }), "`zz`, which is not in the vocabulary"));
  CHECK(contains(refusal([](auto& v) { v.tokens[5] = "\u4e2d"; }), "not written in the byte alphabet"));
  CHECK(contains(refusal([](auto& v) { v.tokens[5] = v.tokens[6]; }), "there twice"));
  CHECK(contains(refusal([](auto& v) { v.tokens[5] = "\xc3"; }), "token 5 is not UTF-8"));
  CHECK(contains(refusal([](auto& v) { v.token_types.pop_back(); }), "types of"));
}

// By src/llama-vocab.cpp of llama.cpp: a begin token and whole pieces are of these names alone.
TEST_CASE(
    "tokens of bytes: names of pre-tokenizers that llama.cpp cuts alike, with their begin token and whole pieces") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> alike = {
      {"default", {""}},
      {"gpt-2",
       {"phi-2", "jais", "trillion", "granite-docling", "gigachat", "a.x-4.0", "mellum", "exaone4", "jina-es",
        "jina-de", "jina-v2-es", "jina-v2-de"}},
      {"olmo", {"mpt", "modern-bert"}},
      {"smollm", {"starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"}},
      {"llama-bpe", {"llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"}},
      {"qwen2", {"deepseek-r1-qwen", "megrez", "kormo", "f2llmv2", "stablelm2", "hunyuan"}},
      {"gpt-4o", {"llama4", "kanana2", "talkie", "minimax-m2"}}};
  GgufVocabulary values = gguf_of_bytes();
  auto model_of = [&](const std::string& pre) {
    CHECK(knows_pre_tokenizer(pre));
    values.pre = pre;
    return gguf_model(values, "a.gguf");
  };
  for (const auto& [first, others] : alike) {
    const BpeModel expected = model_of(first);
    for (const std::string& pre : others) {
      CAPTURE(pre);
      const BpeModel model = model_of(pre);
      CHECK(model.cuts == expected.cuts);
      CHECK(model.nfc == expected.nfc);
      CHECK(model.whole_pieces == expected.whole_pieces);
      CHECK(model.before == expected.before);
    }
  }
  for (const std::string pre : {"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"}) {
    CAPTURE(pre);
    const BpeModel model = model_of(pre);
    CHECK(model.cuts == std::vector<Cut>{Cut::llama3_words});
    CHECK_FALSE(model.whole_pieces);
    CHECK(model.before.empty());
  }
  CHECK(model_of("llama-bpe").whole_pieces);
  CHECK(model_of("llama-bpe").before == Ids{1});
  CHECK(model_of("command-r").cuts == model_of("smollm").cuts);
  CHECK(model_of("command-r").nfc);
  CHECK(model_of("grok-2").cuts == model_of("qwen2").cuts);
  for (const char* other : {"falcon", "deepseek-llm", "qwen35", "seed-coder", "superbpe", "viking"})
    CHECK_FALSE(knows_pre_tokenizer(other));
}

TEST_CASE("tokens of a GGUF file: tokens that end a text or turn and fill-in tokens are found whatever their type") {
  GgufVocabulary values = gguf_of_bytes();
  values.pre = "gpt-2";
  const auto first = static_cast<std::int32_t>(values.tokens.size());
  const std::vector<std::string> added = {"<|im_end|>", "<|fim_prefix|>", "<|message|>", "<|repo_name|>",
                                          "<|im_start|>"};
  values.tokens.insert(values.tokens.end(), added.begin(), added.end());
  const std::vector<std::int32_t> sound_types = values.token_types;
  values.token_types.resize(values.tokens.size(), 3);
  auto ids = [&](const std::string& text) { return Tokenizer(gguf_model(values, "a.gguf")).encode(text); };
  const Ids a = ids("a"), b = ids("b");
  for (const int type : {1, 5, 3, 4, 0}) {  // 0: the file has no types
    CAPTURE(type);
    values.token_types = sound_types;
    values.token_types.resize(values.tokens.size(), type);
    if (type == 0) values.token_types.clear();
    for (std::int32_t n = 0; n < 4; ++n)
      CHECK(ids("a" + added[static_cast<std::size_t>(n)] + "b") == Ids{a[0], first + n, b[0]});
    CHECK((ids("a<|im_start|>b") == Ids{a[0], first + 4, b[0]}) ==
          (type == 3 || type == 4));  // llama.cpp has no such name
  }
  GgufVocabulary scored = gguf_of(golden().at("scored").at("llama"));
  const auto end = std::ranges::find(scored.tokens, "</s>") - scored.tokens.begin();
  const Ids sound = Tokenizer(gguf_model(scored, "a.gguf")).encode("a</s>b");
  CHECK(std::ranges::find(sound, end) != sound.end());
  scored.token_types[static_cast<std::size_t>(end)] = 1;
  CHECK(Tokenizer(gguf_model(scored, "a.gguf")).encode("a</s>b") == sound);

  using Names = std::vector<std::string_view>;
  using Ends = std::vector<std::int64_t>;
  CHECK(gguf_end_tokens(Names{"a", "<|im_start|>", "<|fim_prefix|>"}).empty());
  CHECK(gguf_end_tokens(Names{"<|im_end|>", "b", "<|endoftext|>", "<|file_sep|>"}) == Ends{2, 0, 3});
  CHECK(gguf_end_tokens(Names{"<|end|>", "<|endoftext|>"}) == Ends{1, 0});           // of Phi-3
  CHECK(gguf_end_tokens(Names{"<|end|>", "<|call|>", "<|return|>"}) == Ends{2, 1});  // of gpt-oss
  CHECK(gguf_end_tokens(Names{"<|end|>", "<|calls|>", "<|flush|>"}) == Ends{1, 2});  // of Solar
}
