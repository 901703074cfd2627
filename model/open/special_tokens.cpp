// As in transformers 5: special_tokens_map.json and added_tokens.json count where tokenizer_config.json has no
// `added_tokens_decoder`.
#include "model/open/special_tokens.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "model/open/config_json.h"

namespace sink {
namespace {

constexpr const char* kRemedy =
    "; expected a tokenizer.json with all tokens, which AutoTokenizer.from_pretrained(F).save_pretrained(F) writes";

std::optional<ConfigJson> read_if_there(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return ConfigJson::read(path);
}

// The text of a token that is a text or an object with `content` and flags; none of anything else.
std::string content_of(const nlohmann::json& token) {
  const nlohmann::json content = token.is_object() ? token.value("content", nlohmann::json()) : token;
  return content.is_string() ? content.get<std::string>() : "";
}

// `of_vocabulary`: of a vocab.json. There the flags of named tokens count, and there is no normalizer, so `normalized`
// changes nothing. With tokenizer.json or `added_tokens_decoder` named flags do not count.
class AddedTokenCheck {
 public:
  AddedTokenCheck(const Tokenizer& tokenizer, bool of_vocabulary)
      : tokenizer_(tokenizer), of_vocabulary_(of_vocabulary) {
    for (const AddedToken& token : tokenizer.model().added) known_.emplace(token.content, &token);
  }

  bool finds(const std::string& token) const { return known_.contains(token); }
  // The first checked token that is an ordinary one of the vocabulary; empty: none is.
  const std::string& ordinary() const { return ordinary_; }

  // Checks tokenizer_config.json, if there is one, and the older files that count without its `added_tokens_decoder`.
  void check_files(const std::string& folder) {
    if (const auto config = read_if_there(folder + "/tokenizer_config.json")) {
      if (config->json().value("split_special_tokens", nlohmann::json()) == true)
        config->refuse("`split_special_tokens` must be false: special tokens in texts are always found here");
      check_named(*config);
      if (config->has("added_tokens_decoder")) return check_decoder(config->object("added_tokens_decoder"));
    }
    if (const auto map = read_if_there(folder + "/special_tokens_map.json")) check_named(*map);
    if (const auto added = read_if_there(folder + "/added_tokens.json")) check_keys(*added);
  }

 private:
  // Checks the tokens of a tokenizer_config.json or special_tokens_map.json: keys such as `pad_token`, whose value is a
  // text or an object, and lists of these.
  void check_named(const ConfigJson& file) {
    for (const auto& [key, value] : file.json().items()) {
      const bool lists = key == "additional_special_tokens" || key == "extra_special_tokens";
      if (lists && value.is_structured())
        for (const nlohmann::json& one : value) check_named_token(file, one);
      else if (key.ends_with("_token"))
        check_named_token(file, value);
    }
  }

  // Checks added_tokens.json: {"token": id, ...}.
  void check_keys(const ConfigJson& file) {
    for (const std::string& token : file.keys()) check_token(file, token);
  }

  // Checks `added_tokens_decoder`: {"id": {"content": "token", ...}, ...}.
  void check_decoder(const ConfigJson& tokens) {
    for (const auto& [id, token] : tokens.json().items()) check_token(tokens, token);
  }

  void check_named_token(const ConfigJson& file, const nlohmann::json& token) {
    check_token(file, of_vocabulary_ ? token : nlohmann::json(content_of(token)));
  }

  void check_token(const ConfigJson& file, const nlohmann::json& token) {
    const std::string text = content_of(token);
    if (text.empty()) return;
    const std::string name = "the token " + in_quotes(text);
    const auto found = known_.find(text);
    if (found == known_.end()) {
      const std::vector<std::int32_t> ids = tokenizer_.encode(text);
      if (ids.size() != 1 || tokenizer_.decode(ids) != text)
        file.refuse(name + " is none of the tokenizer's" + kRemedy);
      if (ordinary_.empty()) ordinary_ = text;
      return;
    }
    if (!token.is_object()) return;
    auto compare = [&](const char* flag, bool known, bool otherwise) {
      if (token.value(flag, nlohmann::json(otherwise)) != nlohmann::json(known))
        file.refuse(name + " has another `" + flag + "` than in the tokenizer" + kRemedy);
    };
    compare("lstrip", found->second->takes_left, false);
    compare("rstrip", found->second->takes_right, false);
    compare("single_word", found->second->single_word, false);
    // As in the tokenizers package, a token that is not special is searched in normalized text.
    if (!of_vocabulary_)
      compare("normalized", found->second->normalized, token.value("special", nlohmann::json(false)) != true);
  }

  const Tokenizer& tokenizer_;
  bool of_vocabulary_;
  std::string ordinary_;
  std::unordered_map<std::string, const AddedToken*> known_;
};

}  // namespace

void check_vocabulary_folder(const std::string& folder, const Family& family, const Tokenizer& tokenizer) {
  auto refuse = [&](const std::string& why) { throw Error(folder + ": " + why + kRemedy, Exit::corrupt_checkpoint); };
  const auto& [special, begins] = family.vocabulary;
  if (special.empty())
    refuse("vocab.json and merges.txt are read for " +
           families_with([](const Family& one) { return one.vocabulary.special.empty() ? "" : one.name; }) +
           ", and this is " + family.ablation);
  AddedTokenCheck check(tokenizer, true);
  if (!check.finds(special) || tokenizer.begin_tokens().empty() == begins)
    refuse("vocab.json is not that of " + family.name + ", with `" + special + "`" +
           (begins ? "" : " and without `</s>`"));
  if (const auto config = read_if_there(folder + "/tokenizer_config.json")) {
    auto expect = [&](const char* key, const nlohmann::json& value, const nlohmann::json& otherwise) {
      if ((config->has(key) ? config->json().at(key) : otherwise) != value)
        config->refuse("`" + std::string(key) + "` must be " + value.dump() + " with vocab.json of " + family.name +
                       kRemedy);
    };
    expect("add_bos_token", begins, false);
    expect("add_prefix_space", false, false);
    if (begins && content_of(config->json().value("bos_token", nlohmann::json())) != special)
      expect("bos_token", special, "");
    if (config->json().value("tokenizer_class", nlohmann::json()) != "GPT2TokenizerFast")
      expect("tokenizer_class", "GPT2Tokenizer", "GPT2Tokenizer");
  }
  check.check_files(folder);
}

void check_special_tokens(const std::string& folder, const Tokenizer& tokenizer) {
  AddedTokenCheck(tokenizer, false).check_files(folder);
}

std::string special_tokens_refusal(const std::string& folder, const Tokenizer& tokenizer, bool of_vocabulary) {
  AddedTokenCheck check(tokenizer, of_vocabulary);
  check.check_files(folder);
  if (check.ordinary().empty()) return "";
  return "its special token " + in_quotes(check.ordinary()) +
         " is an ordinary token of the tokenizer, and transformers cuts a text at it: expected it among the added "
         "tokens";
}

}  // namespace sink
