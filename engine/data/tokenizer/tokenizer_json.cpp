#include "engine/data/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "engine/data/tokenizer/added_tokens.h"
#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/scored_vocabulary.h"
#include "engine/data/tokenizer/tokenizer_steps.h"
#include "engine/io/bounded_json.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

using Json = nlohmann::json;
using Ids = std::unordered_map<std::string, std::int32_t>;

constexpr std::int64_t kLargestId = 1 << 24;

// A token's id, which must be less than `most`, so that tables stay in proportion to the file.
std::int32_t id_of(const Json& value, std::int64_t most, const std::string& path) {
  bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() < static_cast<std::uint64_t>(most);
  if (!fits)
    reject_tokenizer(path, "expected a token id from 0 to " + std::to_string(most - 1) + ", got " + brief_json(value));
  return value.get<std::int32_t>();
}

void check_supported(const Json& file, const std::string& path) {
  const Json& model = file.at("model");
  // Old files do not name the type of the model.
  if (model.value("type", "BPE") != "BPE") reject_tokenizer(path, "the model is " + brief_json(model.at("type")));
  for (const char* option : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    if (uses_option(model, option)) reject_tokenizer(path, std::string("the option ") + option + " is not supported");
  }
  for (const char* option : {"truncation", "padding"}) {
    if (uses_option(file, option))
      reject_tokenizer(path, std::string("the option ") + option + " is not supported: set it to null");
  }
}

void place(BpeModel& model, std::int32_t id, std::string bytes, bool in_vocabulary, const std::string& path) {
  auto at = static_cast<std::size_t>(id);
  if (at >= model.bytes.size()) {
    model.bytes.resize(at + 1);
    model.in_vocabulary.resize(at + 1);
  }
  if (model.in_vocabulary[at] && (in_vocabulary || model.bytes[at] != bytes))
    reject_tokenizer(path, "two tokens have the id " + std::to_string(id));
  model.bytes[at] = std::move(bytes);
  if (in_vocabulary) model.in_vocabulary[at] = true;
}

std::int32_t find_id(const Ids& ids, const std::string& token, const std::string& path) {
  auto found = ids.find(token);
  if (found == ids.end())
    reject_tokenizer(path, "a merge names the token " + in_quotes(token) + ", which is not in the vocabulary");
  return found->second;
}

// The two tokens of "left right", or of ["left", "right"].
std::pair<std::string, std::string> parts_of_merge(const Json& merge, const std::string& path) {
  if (merge.is_array() && merge.size() == 2) return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (0 < space && space < text.size() - 1 && space == text.rfind(' '))
      return {text.substr(0, space), text.substr(space + 1)};
  }
  reject_tokenizer(path, "a merge is " + brief_json(merge) + "; expected two parts, as in \"left right\"");
}

void read_merges(BpeModel& model, const Json& json, const Ids& ids, const std::string& path) {
  for (const Json& merge : json.at("merges")) {
    const auto [left, right] = parts_of_merge(merge, path);
    model.merges.push_back({find_id(ids, left, path), find_id(ids, right, path), find_id(ids, left + right, path)});
  }
  // A key of our own, see scored_vocabulary.cpp.
  for (const Json& rank : json.value("ranks", Json::array())) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= model.merges.size())
      reject_tokenizer(path, "the rank of a merge is " + brief_json(rank));
    model.ranks.push_back(rank.get<std::int32_t>());
  }
  if (!model.ranks.empty() && model.ranks.size() != model.merges.size())
    reject_tokenizer(path, "there are " + std::to_string(model.ranks.size()) + " ranks of " +
                               std::to_string(model.merges.size()) + " merges");
}

AddedToken added_token(const Json& token, std::int64_t most, const std::string& path) {
  AddedToken added{id_of(token.at("id"), most, path), token.at("content").get<std::string>(),
                   token.value("special", false),     token.value("normalized", true),
                   token.value("lstrip", false),      token.value("rstrip", false),
                   token.value("single_word", false)};
  if (added.content.empty()) reject_tokenizer(path, "an added token is empty");
  if (added.content.size() > kLongestAdded)
    reject_tokenizer(path, "an added token has " + std::to_string(added.content.size()) + " bytes, at most " +
                               std::to_string(kLongestAdded) + " are read");
  return added;
}

void read_unknown(const Json& json, const Ids& ids, BpeModel& model, const std::string& path) {
  if (!uses_option(json, "unk_token")) return;
  auto name = json.at("unk_token").get<std::string>();
  auto found = ids.find(name);
  if (found == ids.end()) reject_tokenizer(path, "the unk_token " + in_quotes(name) + " is not in the vocabulary");
  model.unknown = found->second;
  model.fuse_unknown = json.value("fuse_unk", false);
}

// The bytes of a token of the vocabulary: its text, or the bytes that its text is in the byte alphabet. An added token
// is always its text.
std::string bytes_of_token(const std::string& token, std::int32_t id, const Ids& added, BpeModel& model,
                           const std::string& path) {
  std::optional<std::string> bytes = model.byte_level ? decode_bytes(token) : token;
  if (model.byte_level && bytes && bytes->size() == 1) model.id_of_byte[static_cast<unsigned char>((*bytes)[0])] = id;
  auto also_added = added.find(token);
  if (also_added != added.end()) {
    if (also_added->second != id)
      reject_tokenizer(path, "the added token " + in_quotes(token) + " has the id " + std::to_string(id) +
                                 " in the vocabulary and " + std::to_string(also_added->second) +
                                 " among the added tokens");
    bytes = token;
  }
  if (!bytes) reject_tokenizer(path, "the token " + in_quotes(token) + " is not written in the byte alphabet");
  return *bytes;
}

// The tokens <0x00> to <0xFF>, where characters without a token become those of their bytes.
void read_byte_fallback(const Json& json, const Ids& ids, BpeModel& model, const std::string& path) {
  if (!uses_option(json, "byte_fallback")) return;
  if (model.byte_level) reject_tokenizer(path, "the option byte_fallback is not supported with ByteLevel");
  static constexpr char kDigits[] = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    auto found = ids.find({'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'});
    if (found != ids.end()) model.id_of_byte[byte] = found->second;
  }
}

BpeModel read_model(const Json& file, std::size_t file_bytes, const std::string& path) {
  check_supported(file, path);
  // A token takes more than one byte of the file.
  std::int64_t most = std::min(kLargestId, static_cast<std::int64_t>(file_bytes));
  BpeModel model;
  read_text_steps(file, model, path);
  Ids added;
  for (const Json& token : file.value("added_tokens", Json::array())) {
    model.added.push_back(added_token(token, most, path));
    added[model.added.back().content] = model.added.back().id;
  }
  Ids ids;
  const Json& json = file.at("model");
  for (const auto& [token, id_json] : json.at("vocab").items()) {
    std::int32_t id = id_of(id_json, most, path);
    ids.emplace(token, id);
    place(model, id, bytes_of_token(token, id, added, model, path), true, path);
  }
  for (const AddedToken& token : model.added) place(model, token.id, token.content, false, path);
  read_byte_fallback(json, ids, model, path);
  read_merges(model, json, ids, path);
  read_unknown(json, ids, model, path);
  model.whole_pieces = json.value("ignore_merges", false);
  read_special_steps(file, model, path);
  return model;
}

// Refuses a file whose added tokens have other ids than in the `tokenizers` package. Files with `ranks` are ours.
void check_added_ids(const BpeModel& model, const std::string& path) {
  if (!model.ranks.empty()) return;
  const std::vector<std::int32_t> ids = ids_of_package(model);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const AddedToken& token = model.added[i]; token.id != ids[i])
      reject_tokenizer(path, "the added token " + in_quotes(token.content) + " has the id " + std::to_string(token.id) +
                                 ", and the tokenizers package gives it " + std::to_string(ids[i]));
}

// Runs `read`, which may throw what the JSON library throws.
template <class Read>
BpeModel refusing(const std::string& path, Read&& read) {
  try {
    return read();
  } catch (const JsonFailure& failure) {
    reject_tokenizer(path, failure.what());
  } catch (const Json::exception& error) {
    reject_tokenizer(path, std::string(utf8_prefix(error.what(), kLongestReason)));
  }
}

// The lines "left right" of merges.txt or vocab.bpe as a list.
Json merges_of_lines(const std::string& text) {
  Json merges = Json::array();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
  }
  return merges;
}

Json special_token(const Json& vocabulary, const char* content) {
  return {{"id", vocabulary.at(content)}, {"content", content}, {"special", true}, {"normalized", false}};
}

// Adds the merges and the special tokens of GPT-2 and OPT to a plain vocabulary.
Json with_merges(const Json& vocabulary, const std::string& merges) {
  Json file = {{"model", {{"vocab", vocabulary}, {"merges", merges_of_lines(merges)}}},
               {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
               {"added_tokens", Json::array()}};
  if (!vocabulary.contains("</s>")) {
    if (vocabulary.contains(kEndOfText)) file["added_tokens"].push_back(special_token(vocabulary, kEndOfText));
    return file;
  }
  for (const char* content : {"<pad>", "</s>"}) {
    if (vocabulary.contains(content)) file["added_tokens"].push_back(special_token(vocabulary, content));
  }
  file["post_processor"] = Json::parse(R"({"type": "TemplateProcessing", "special_tokens": {"</s>": {"ids": [0]}},
      "single": [{"SpecialToken": {"id": "</s>"}}, {"Sequence": {"id": "A"}}]})");
  file["post_processor"]["special_tokens"]["</s>"]["ids"][0] = vocabulary.at("</s>");
  return file;
}

bool is_vocabulary_alone(const Json& json) {
  return json.is_object() && !json.empty() &&
         std::all_of(json.begin(), json.end(), [](const Json& value) { return value.is_number(); });
}

}  // namespace

BpeModel parse_tokenizer_json(const std::string& json, const std::string& path) {
  return refusing(path, [&] { return read_model(parse_bounded_json(json), json.size(), path); });
}

BpeModel read_tokenizer(const std::string& path) {
  if (path.ends_with(".bin")) return read_llama2c_vocabulary(read_file("tokenizer", path), path);
  std::string text = read_file("tokenizer", path);
  return refusing(path, [&] {
    Json json = parse_bounded_json(text);
    if (!is_vocabulary_alone(json)) {
      BpeModel model = read_model(json, text.size(), path);
      check_added_ids(model, path);
      return model;
    }
    for (const char* name : {"vocab.bpe", "merges.txt"}) {
      std::filesystem::path merges = std::filesystem::path(path).parent_path() / name;
      if (!std::filesystem::exists(merges)) continue;
      require_regular_file(merges);
      return read_model(with_merges(json, read_file("tokenizer", merges.string())), text.size(), path);
    }
    reject_tokenizer(path, "a vocabulary without its merges: expected vocab.bpe or merges.txt in the same folder");
  });
}

}  // namespace sink
