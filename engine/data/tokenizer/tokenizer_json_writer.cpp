// Writes tokenizer.json.
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/tokenizer_json.h"

namespace sink {

namespace {

using OrderedJson = nlohmann::ordered_json;  // keeps keys as they come, but looks them up one by one

OrderedJson byte_level(bool prefix_space, bool words) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", true}, {"use_regex", words}};
}

OrderedJson cut_json(Cut cut) {
  if (cut == Cut::each_digit || cut == Cut::digit_runs)
    return {{"type", "Digits"}, {"individual_digits", cut == Cut::each_digit}};
  OrderedJson pattern = {{"Regex", cut == Cut::words ? kWordsPattern : kLlama3Pattern}};
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}};
}

OrderedJson pre_tokenizer(const BpeModel& model) {
  OrderedJson last = byte_level(model.prefix_space, model.words);
  if (model.cuts.empty()) return last;
  OrderedJson steps = OrderedJson::array();
  for (Cut cut : model.cuts) steps.push_back(cut_json(cut));
  steps.push_back(last);
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

// A template where there are special tokens around a text; they are named by their ids.
OrderedJson post_processor(const BpeModel& model) {
  if (model.before.empty() && model.after.empty()) return byte_level(model.prefix_space, true);
  OrderedJson special = OrderedJson::object(), single = OrderedJson::array(), pair = OrderedJson::array();
  auto add = [&](const std::vector<std::int32_t>& ids) {
    for (std::int32_t id : ids) {
      std::string name = std::to_string(id);
      special[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
      single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    }
  };
  auto text = [](const char* name) { return OrderedJson{{"Sequence", {{"id", name}, {"type_id", 0}}}}; };
  add(model.before);
  single.push_back(text("A"));
  add(model.after);
  pair = {text("A"), text("B")};
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

OrderedJson added_tokens(const BpeModel& model) {
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : model.added) {
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", token.single_word},
                     {"lstrip", token.takes_left},
                     {"rstrip", token.takes_right},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  return added;
}

// How every token of the vocabulary is spelt; empty for those that are none.
std::vector<std::string> spellings(const BpeModel& model) {
  std::unordered_map<std::int32_t, std::string> literal;  // added tokens are spelt as they are
  for (const AddedToken& token : model.added) literal[token.id] = token.content;
  std::vector<std::string> spelling(model.bytes.size());
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (!model.in_vocabulary[id]) continue;
    auto found = literal.find(static_cast<std::int32_t>(id));
    spelling[id] = found != literal.end() ? found->second : encode_bytes(model.bytes[id]);
  }
  return spelling;
}

OrderedJson bpe(const BpeModel& model) {
  std::vector<std::string> spelling = spellings(model);
  OrderedJson vocabulary = OrderedJson::object();
  // Assigning by key would search the whole ordered object each time; appending its pairs does not.
  for (std::size_t id = 0; id < spelling.size(); ++id) {
    if (!spelling[id].empty()) vocabulary.get_ref<OrderedJson::object_t&>().Container::emplace_back(spelling[id], id);
  }
  OrderedJson merges = OrderedJson::array();
  for (const BpeMerge& merge : model.merges) {
    const std::string& left = spelling[static_cast<std::size_t>(merge.left)];
    const std::string& right = spelling[static_cast<std::size_t>(merge.right)];
    bool blank = left.find(' ') != std::string::npos || right.find(' ') != std::string::npos;
    merges.push_back(blank ? OrderedJson{left, right} : OrderedJson(left + " " + right));
  }
  OrderedJson unknown;
  if (model.unknown != BpeModel::kNone) unknown = spelling[static_cast<std::size_t>(model.unknown)];
  OrderedJson json = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", unknown},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", model.fuse_unknown},
                      {"byte_fallback", false}};
  if (model.whole_pieces) json["ignore_merges"] = true;
  json["vocab"] = std::move(vocabulary);
  json["merges"] = std::move(merges);
  return json;
}

}  // namespace

std::string to_tokenizer_json(const BpeModel& model) {
  OrderedJson file = {{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", added_tokens(model)},
                      {"normalizer", model.nfc ? OrderedJson{{"type", "NFC"}} : OrderedJson(nullptr)},
                      {"pre_tokenizer", pre_tokenizer(model)},
                      {"post_processor", post_processor(model)},
                      {"decoder", byte_level(false, true)},
                      {"model", bpe(model)}};
  return file.dump(1) + "\n";
}

}  // namespace sink
