#include "engine/data/tokenizer/gguf_vocabulary.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/check.h"
#include "engine/data/tokenizer/added_tokens.h"
#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/scored_vocabulary.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

[[noreturn]] void refuse_gguf(const std::string& path, const std::string& why) {
  fail("tokenizer", path + ": " + why, Exit::bad_input);
}

struct PreTokenizer {
  std::vector<Cut> cuts;
  bool nfc = false;
  bool whole_pieces = false;
  bool adds_bos = false;
};

// The names of llama.cpp (src/llama-vocab.cpp) whose cuts are computed here, with their begin token and whole pieces as
// there. NFC is that of the tokenizer.json that the name belongs to, where that is known.
const std::unordered_map<std::string, PreTokenizer>& pre_tokenizers() {
  static const std::unordered_map<std::string, PreTokenizer> known = [] {
    std::unordered_map<std::string, PreTokenizer> named;
    auto name = [&](std::initializer_list<const char*> names, const PreTokenizer& same) {
      for (const char* one : names) named[one] = same;
    };
    name({"default"}, {{Cut::sign_runs, Cut::words, Cut::number_runs, Cut::ascii_threes}});
    name({"gpt-2", "phi-2", "jais", "trillion", "granite-docling", "gigachat", "a.x-4.0", "mellum", "exaone4",
          "jina-es", "jina-de", "jina-v2-es", "jina-v2-de"},
         {{Cut::words}});
    name({"olmo", "mpt", "modern-bert"}, {{Cut::words}, true});
    name({"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
         {{Cut::each_digit, Cut::words}});
    name({"command-r"}, {{Cut::each_digit, Cut::words}, true});
    name({"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
         {{Cut::llama3_words}, false, true, true});
    name({"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"}, {{Cut::llama3_words}});
    name({"qwen2", "deepseek-r1-qwen", "megrez", "kormo", "f2llmv2", "stablelm2", "hunyuan"},
         {{Cut::qwen2_words}, true});
    name({"grok-2", "solar-open"}, {{Cut::qwen2_words}});
    name({"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {{Cut::o200k_words}});
    name({"tekken"}, {{Cut::tekken_words}, false, true, true});
    return named;
  }();
  return known;
}

PreTokenizer pre_tokenizer_named(const std::string& name, const std::string& path) {
  auto found = pre_tokenizers().find(name.empty() ? "default" : name);
  if (found == pre_tokenizers().end())
    refuse_gguf(path, "tokenizer.ggml.pre is " + in_quotes(name) +
                          "; expected a name of llama.cpp that cuts like default, gpt-2, smollm, llama-bpe, qwen2, "
                          "gpt-4o or tekken");
  return found->second;
}

// Tokens that llama.cpp finds in every text, whatever type a file gives them. They also end a text: fill-in tokens for
// padding, repositories and files; and they do not: those before, between and after a gap, and the marks of gpt-oss.
constexpr std::string_view kEndingFillIn[] = {"<|fim_pad|>", "<fim-pad>",    "<fim_pad>",     "<PAD>",
                                              "[PAD]",       "<|fim_repo|>", "<|repo_name|>", "<fim-repo>",
                                              "<REPO>",      "<reponame>",   "<|file_sep|>"};
constexpr std::string_view kFillIn[] = {
    "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",    "<\uff5cfim\u2581begin\uff5c>",
    "<PRE>",          "\u2581<PRE>",  "<|code_prefix|>", "<|prefix|>",
    "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",    "<\uff5cfim\u2581hole\uff5c>",
    "<SUF>",          "\u2581<SUF>",  "<|code_suffix|>", "<|suffix|>",
    "<|fim_middle|>", "<fim-middle>", "<fim_middle>",    "<\uff5cfim\u2581end\uff5c>",
    "<MID>",          "\u2581<MID>",  "<|code_middle|>", "<|middle|>"};
constexpr std::string_view kMarks[] = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

bool is_one_of(std::span<const std::string_view> names, std::string_view token) {
  return std::ranges::find(names, token) != names.end();
}

bool ends_in_gguf(std::string_view token) {
  return is_one_of(kEndTokenNames, token) || is_one_of(kEndingFillIn, token);
}

// The types of the tokens. Where the file has none, tokens in the byte alphabet are normal, as in llama.cpp; others can
// only be added ones. Those above are special.
std::vector<std::int32_t> types_of(const GgufVocabulary& given) {
  std::vector<std::int32_t> types = given.token_types;
  if (types.empty() && given.model == "gpt2")
    for (const std::string& token : given.tokens)
      types.push_back(static_cast<int>(decode_bytes(token) ? TokenKind::normal : TokenKind::user_defined));
  for (std::size_t id = 0; id < std::min(types.size(), given.tokens.size()); ++id) {
    const auto kind = static_cast<TokenKind>(types[id]);
    if (kind == TokenKind::control || kind == TokenKind::unknown || kind == TokenKind::user_defined) continue;
    if (ends_in_gguf(given.tokens[id]) || is_one_of(kFillIn, given.tokens[id]))
      types[id] = static_cast<int>(TokenKind::control);
    else if (is_one_of(kMarks, given.tokens[id]))
      types[id] = static_cast<int>(TokenKind::user_defined);
  }
  return types;
}

// The token before or after every text, if any.
std::vector<std::int32_t> token_around(bool wanted, const std::optional<std::int64_t>& id, const char* key,
                                       const GgufVocabulary& vocabulary, const std::string& path) {
  if (!wanted) return {};
  if (!id) refuse_gguf(path, std::string("wants a token around every text, but has no tokenizer.ggml.") + key);
  if (*id < 0 || *id >= static_cast<std::int64_t>(vocabulary.tokens.size()))
    refuse_gguf(path, std::string("tokenizer.ggml.") + key + " is " + std::to_string(*id) + " of a vocabulary of " +
                          std::to_string(vocabulary.tokens.size()));
  return {static_cast<std::int32_t>(*id)};
}

// SentencePiece and llama.cpp also merge characters that are no tokens; here only tokens merge. Tokens that are not
// normal are found before any merge.
void check_characters(const ScoredVocabulary& vocabulary, const std::string& path) {
  std::unordered_set<std::string_view> known;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (vocabulary.kinds[id] != TokenKind::unused && vocabulary.kinds[id] != TokenKind::byte)
      known.insert(vocabulary.tokens[id]);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view token = vocabulary.tokens[id];
    if (vocabulary.kinds[id] != TokenKind::normal) continue;
    for (std::size_t at = 0, size = 0; at < token.size(); at += size) {
      size = static_cast<std::size_t>(utf8_length(token, at));
      if (!known.contains(token.substr(at, size)))
        refuse_gguf(path, "token " + std::to_string(id) + " has the character " + in_quotes(token.substr(at, size)) +
                              ", which is no token; expected a vocabulary with all characters of its tokens");
    }
  }
}

BpeModel scored_gguf(const GgufVocabulary& given, const std::string& path) {
  ScoredVocabulary vocabulary;
  vocabulary.tokens = given.tokens;
  vocabulary.scores = given.scores;
  for (std::int32_t type : given.token_types) vocabulary.kinds.push_back(static_cast<TokenKind>(type));
  vocabulary.space_prefix = given.add_space_prefix.value_or(true);
  auto bos = given.bos_token_id ? given.bos_token_id : 1, eos = given.eos_token_id ? given.eos_token_id : 2;
  vocabulary.before = token_around(given.add_bos_token.value_or(true), bos, "bos_token_id", given, path);
  vocabulary.after = token_around(given.add_eos_token.value_or(false), eos, "eos_token_id", given, path);
  BpeModel model = scored_model(vocabulary, path);
  check_characters(vocabulary, path);
  return model;
}

using GgufIds = std::unordered_map<std::string_view, std::int32_t>;

// Reads tokens in the byte alphabet, and added tokens.
GgufIds read_gguf_tokens(const GgufVocabulary& given, BpeModel& model, const std::string& path) {
  GgufIds ids;
  for (std::size_t at = 0; at < given.tokens.size(); ++at) {
    auto id = static_cast<std::int32_t>(at);
    const std::string& token = given.tokens[at];
    auto kind = static_cast<TokenKind>(given.token_types[at]);
    bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    std::string name = "token " + std::to_string(at);
    if (utf8_valid_prefix(token) != token.size()) refuse_gguf(path, name + " is not UTF-8");
    model.bytes.push_back(token);
    model.in_vocabulary.push_back(kind == TokenKind::normal);
    if (kind == TokenKind::unused) continue;
    if (token.empty() || !ids.emplace(token, id).second)
      refuse_gguf(path, name + " is empty or there twice: " + in_quotes(token));
    if (special || kind == TokenKind::user_defined) {
      if (token.size() > kLongestAdded) refuse_gguf(path, name + " is longer than 1024 bytes");
      model.added.push_back({id, token, special, false});
      continue;
    }
    std::optional<std::string> bytes = decode_bytes(token);
    if (kind != TokenKind::normal || !bytes)
      refuse_gguf(path, name + " is not written in the byte alphabet, or of the unknown type " +
                            std::to_string(static_cast<int>(kind)) + ": " + in_quotes(token));
    if (bytes->size() == 1) model.id_of_byte[static_cast<unsigned char>((*bytes)[0])] = id;
    model.bytes.back() = *bytes;
  }
  return ids;
}

BpeModel byte_level_gguf(const GgufVocabulary& given, const std::string& path) {
  if (given.token_types.size() != given.tokens.size())
    refuse_gguf(path, "has " + std::to_string(given.token_types.size()) + " types of " +
                          std::to_string(given.tokens.size()) + " tokens");
  PreTokenizer pre = pre_tokenizer_named(given.pre, path);
  BpeModel model;
  model.cuts = pre.cuts;
  model.words = false;
  model.nfc = pre.nfc;
  model.whole_pieces = pre.whole_pieces;
  GgufIds ids = read_gguf_tokens(given, model, path);
  auto id_of = [&](std::string_view token) {
    auto found = ids.find(token);
    if (found == ids.end())
      refuse_gguf(path, "a merge names the token " + in_quotes(token) + ", which is not in the vocabulary");
    return found->second;
  };
  for (const std::string& merge : given.merges) {
    const std::size_t space = merge.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == merge.size() || space != merge.rfind(' '))
      refuse_gguf(path, "a merge is " + in_quotes(merge) + "; expected two parts with a space between them");
    std::string_view left = std::string_view(merge).substr(0, space), right = std::string_view(merge).substr(space + 1);
    model.merges.push_back({id_of(left), id_of(right), id_of(std::string(left).append(right))});
  }
  model.before =
      token_around(given.add_bos_token.value_or(pre.adds_bos), given.bos_token_id, "bos_token_id", given, path);
  model.after = token_around(given.add_eos_token.value_or(false), given.eos_token_id, "eos_token_id", given, path);
  return model;
}

}  // namespace

bool knows_pre_tokenizer(const std::string& pre) { return pre.empty() || pre_tokenizers().contains(pre); }

std::vector<std::int64_t> gguf_end_tokens(std::span<const std::string_view> tokens) {
  std::unordered_map<std::string_view, std::int64_t> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id], static_cast<std::int64_t>(id));
  auto has = [&](std::string_view name) { return ids.contains(name); };
  std::vector<std::string_view> names = end_tokens_among(has);
  std::ranges::copy_if(kEndingFillIn, std::back_inserter(names), has);
  std::vector<std::int64_t> ends;
  for (const std::string_view name : names) ends.push_back(ids.at(name));
  return ends;
}

BpeModel gguf_model(const GgufVocabulary& given, const std::string& path) {
  GgufVocabulary vocabulary = given;
  vocabulary.token_types = types_of(given);
  if (vocabulary.remove_extra_whitespaces.value_or(false))
    refuse_gguf(path, "tokenizer.ggml.remove_extra_whitespaces is not supported");
  if (vocabulary.model != "gpt2" && vocabulary.model != "llama")
    refuse_gguf(path, "tokenizer.ggml.model is " + in_quotes(vocabulary.model) + "; expected gpt2 or llama");
  BpeModel model = vocabulary.model == "gpt2" ? byte_level_gguf(vocabulary, path) : scored_gguf(vocabulary, path);
  for (AddedToken& token : model.added)
    token.takes_right =
        vocabulary.is_phi3 && token.content != "<unk>" && token.content != "<s>" && token.content != kEndOfText;
  return model;
}

}  // namespace sink
