#include "engine/data/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "engine/check.h"
#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/io/bounded_json.h"

namespace sink {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keeps keys as they come, but looks them up one by one: for writing only
using Ids = std::unordered_map<std::string, std::int32_t>;

constexpr std::int64_t kLargestId = 1 << 24;
constexpr std::size_t kShown = 80;  // bytes of a value in a message

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  fail("tokenizer", path + ": " + why + "; expected a tokenizer.json of byte-level BPE (as GPT-2 or GPT-NeoX)",
       Exit::bad_input);
}

std::string brief(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, kShown);
}

// A token's id, which must be less than `most`: never cut to fit, and no table grows beyond what its file pays for.
std::int32_t id_of(const Json& value, std::int64_t most, const std::string& path) {
  bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() < static_cast<std::uint64_t>(most);
  if (!fits) reject(path, "expected a token id from 0 to " + std::to_string(most - 1) + ", got " + brief(value));
  return value.get<std::int32_t>();
}

// True where `object` has a value other than null, false, 0 or "" under `key`: an option that changes what comes out.
bool uses(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && !found->is_null() && *found != Json(false) && *found != Json("") &&
         *found != Json(0.0);
}

void check_supported(const Json& file, const std::string& path) {
  const Json& model = file.at("model");
  // Old files do not name the type of the model.
  if (model.value("type", "BPE") != "BPE") reject(path, "the model is " + brief(model.at("type")));
  for (const char* option :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"}) {
    if (uses(model, option)) reject(path, std::string("the option ") + option + " is not supported");
  }
  if (!uses(file, "pre_tokenizer") || file.at("pre_tokenizer").value("type", "") != "ByteLevel" ||
      uses(file.at("pre_tokenizer"), "add_prefix_space") || !file.at("pre_tokenizer").value("use_regex", true)) {
    reject(path, "the pre-tokenizer is not ByteLevel without prefix space");
  }
  if (uses(file, "normalizer") && file.at("normalizer").value("type", "") != "NFC") {
    reject(path, "the normalizer is " + brief(file.at("normalizer")));
  }
}

void place(BpeModel& model, std::int32_t id, std::string bytes, bool in_vocabulary, const std::string& path) {
  auto at = static_cast<std::size_t>(id);
  if (at >= model.bytes.size()) {
    model.bytes.resize(at + 1);
    model.in_vocabulary.resize(at + 1);
  }
  if (model.in_vocabulary[at] && (in_vocabulary || model.bytes[at] != bytes))
    reject(path, "two tokens have the id " + std::to_string(id));
  model.bytes[at] = std::move(bytes);
  if (in_vocabulary) model.in_vocabulary[at] = true;
}

std::int32_t find_id(const Ids& ids, const std::string& token, const std::string& path) {
  auto found = ids.find(token);
  if (found == ids.end())
    reject(path, "a merge names the token '" + token.substr(0, kShown) + "', which is not in the vocabulary");
  return found->second;
}

void read_merges(BpeModel& model, const Json& merges, const Ids& ids, const std::string& path) {
  for (const Json& merge : merges) {
    std::string left, right;
    if (merge.is_array()) {
      left = merge.at(0).get<std::string>();
      right = merge.at(1).get<std::string>();
    } else {
      auto text = merge.get<std::string>();
      std::size_t space = text.find(' ');
      if (space == std::string::npos) reject(path, "the merge '" + text.substr(0, kShown) + "' has no space");
      left = text.substr(0, space);
      right = text.substr(space + 1);
    }
    model.merges.push_back({find_id(ids, left, path), find_id(ids, right, path), find_id(ids, left + right, path)});
  }
}

// Every byte that occurs in UTF-8 needs a token, as its own spelling alone does not promise: an added token of that
// spelling stands for something else.
void require_bytes(const BpeModel& model, const std::string& path) {
  std::array<bool, 256> known{};
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (model.in_vocabulary[id] && model.bytes[id].size() == 1)
      known[static_cast<unsigned char>(model.bytes[id][0])] = true;
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (byte == 0xC0 || byte == 0xC1 || byte >= 0xF5) continue;  // never occur in UTF-8; GPT-NeoX leaves them out
    if (!known[byte]) reject(path, "the vocabulary lacks the byte " + std::to_string(byte));
  }
}

BpeModel read_model(const Json& file, std::size_t file_bytes, const std::string& path) {
  check_supported(file, path);
  // A token takes more than one byte of the file.
  std::int64_t most = std::min(kLargestId, static_cast<std::int64_t>(file_bytes));
  BpeModel model;
  Ids added;
  for (const Json& token : file.value("added_tokens", Json::array())) {
    if (uses(token, "single_word") || uses(token, "lstrip") || uses(token, "rstrip")) {
      reject(path, "the added token " + brief(token.at("content")) + " strips its neighbours");
    }
    model.added.push_back({id_of(token.at("id"), most, path), token.at("content").get<std::string>(),
                           token.value("special", false), token.value("normalized", true)});
    if (model.added.back().content.empty()) reject(path, "an added token is empty");
    added[model.added.back().content] = model.added.back().id;
  }
  Ids ids;
  for (const auto& [token, id_json] : file.at("model").at("vocab").items()) {
    std::int32_t id = id_of(id_json, most, path);
    ids.emplace(token, id);
    // An added token stands for its own characters, not for the bytes they would be in the alphabet.
    std::optional<std::string> bytes = added.count(token) ? token : decode_bytes(token);
    if (!bytes) reject(path, "the token '" + token.substr(0, kShown) + "' is not written in the byte alphabet");
    place(model, id, *bytes, true, path);
  }
  for (const AddedToken& token : model.added) place(model, token.id, token.content, false, path);
  require_bytes(model, path);
  read_merges(model, file.at("model").at("merges"), ids, path);
  model.nfc = uses(file, "normalizer");
  return model;
}

}  // namespace

BpeModel parse_tokenizer_json(const std::string& json, const std::string& path) {
  try {
    return read_model(parse_bounded_json(json), json.size(), path);
  } catch (const JsonFailure& failure) { reject(path, failure.what()); } catch (const Json::exception& error) {
    reject(path, error.what());
  }
}

std::string to_tokenizer_json(const BpeModel& model) {
  std::unordered_map<std::int32_t, std::string> literal;  // added tokens are spelt as they are
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : model.added) {
    literal[token.id] = token.content;
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  std::vector<std::string> spelling(model.bytes.size());
  OrderedJson vocabulary = OrderedJson::object();
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (!model.in_vocabulary[id]) continue;
    auto found = literal.find(static_cast<std::int32_t>(id));
    spelling[id] = found != literal.end() ? found->second : encode_bytes(model.bytes[id]);
  }
  // Assigning by key would search the whole ordered object each time; appending its pairs does not.
  for (std::size_t id = 0; id < spelling.size(); ++id) {
    if (!spelling[id].empty()) vocabulary.get_ref<OrderedJson::object_t&>().Container::emplace_back(spelling[id], id);
  }
  OrderedJson merges = OrderedJson::array();
  for (const BpeMerge& merge : model.merges) {
    merges.push_back(spelling[static_cast<std::size_t>(merge.left)] + " " +
                     spelling[static_cast<std::size_t>(merge.right)]);
  }
  OrderedJson byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  OrderedJson file = {{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", added},
                      {"normalizer", model.nfc ? OrderedJson{{"type", "NFC"}} : OrderedJson(nullptr)},
                      {"pre_tokenizer", byte_level},
                      {"post_processor", byte_level},
                      {"decoder", byte_level},
                      {"model",
                       {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", nullptr},
                        {"end_of_word_suffix", nullptr},
                        {"fuse_unk", false},
                        {"byte_fallback", false},
                        {"vocab", vocabulary},
                        {"merges", merges}}}};
  return file.dump(1) + "\n";
}

}  // namespace sink
