// Writes tokenizer.json.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>

#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/data/tokenizer/tokenizer_json.h"

namespace sink {

namespace {

using OrderedJson = nlohmann::ordered_json;  // keeps keys as they come, but looks them up one by one

OrderedJson step(const char* type) { return {{"type", type}}; }

OrderedJson byte_level(bool prefix_space, bool words) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", true}, {"use_regex", words}};
}

OrderedJson metaspace(PrefixSpace prefix, bool split) {
  static constexpr const char* kScheme[] = {"never", "first", "always"};
  return {{"type", "Metaspace"},
          {"replacement", kMetaspace},
          {"prepend_scheme", kScheme[static_cast<int>(prefix)]},
          {"split", split}};
}

OrderedJson replace(std::string_view what, std::string_view by) {
  return {{"type", "Replace"}, {"pattern", {{"String", what}}}, {"content", by}};
}

// null, the one step there is, or a Sequence of them.
OrderedJson sequence(OrderedJson steps, const char* list) {
  if (steps.empty()) return nullptr;
  if (steps.size() == 1) return steps[0];
  return {{"type", "Sequence"}, {list, std::move(steps)}};
}

OrderedJson cut_json(Cut cut) {
  if (cut == Cut::each_digit || cut == Cut::digit_runs)
    return {{"type", "Digits"}, {"individual_digits", cut == Cut::each_digit}};
  bool after_space = cut == Cut::after_space;
  OrderedJson pattern = {{after_space ? "String" : "Regex", after_space ? " " : pattern_of_cut(cut)}};
  const char* behavior = after_space ? "MergedWithPrevious" : "Isolated";
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", false}};
}

OrderedJson normalizer(const BpeModel& model) {
  OrderedJson steps = OrderedJson::array();
  if (model.nfc) steps.push_back(step("NFC"));
  if (model.prepends) steps.push_back({{"type", "Prepend"}, {"prepend", kMetaspace}});
  if (model.replaces_spaces) steps.push_back(replace(" ", kMetaspace));
  return sequence(std::move(steps), "normalizers");
}

OrderedJson pre_tokenizer(const BpeModel& model) {
  OrderedJson steps = OrderedJson::array();
  for (Cut cut : model.cuts) steps.push_back(cut_json(cut));
  if (model.byte_level) steps.push_back(byte_level(model.prefix_space == PrefixSpace::always, model.words));
  if (model.metaspace) steps.push_back(metaspace(model.prefix_space, model.words));
  return sequence(std::move(steps), "pretokenizers");
}

OrderedJson decoder(const BpeModel& model) {
  if (model.byte_level) return byte_level(false, true);
  if (model.strips_first_token) return metaspace(PrefixSpace::always, true);
  OrderedJson steps = OrderedJson::array({replace(kMetaspace, " ")});
  if (model.decodes_bytes) steps.push_back(step("ByteFallback"));
  steps.push_back(step("Fuse"));
  if (model.stripped_spaces > 0)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", model.stripped_spaces}, {"stop", 0}});
  return sequence(std::move(steps), "decoders");
}

// A template where there are special tokens around a text; they are named by their ids.
OrderedJson post_processor(const BpeModel& model) {
  if (model.before.empty() && model.after.empty())
    return model.byte_level ? byte_level(model.prefix_space == PrefixSpace::always, true) : OrderedJson(nullptr);
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
  std::unordered_set<std::int32_t> literal;  // added tokens are spelt as they are
  for (const AddedToken& token : model.added) literal.insert(token.id);
  std::vector<std::string> spelling(model.bytes.size());
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (!model.in_vocabulary[id]) continue;
    bool as_it_is = literal.contains(static_cast<std::int32_t>(id)) || !model.byte_level;
    spelling[id] = as_it_is ? model.bytes[id] : encode_bytes(model.bytes[id]);
  }
  return spelling;
}

bool has_byte_tokens(const BpeModel& model) {
  return std::any_of(model.id_of_byte.begin(), model.id_of_byte.end(), [](auto id) { return id != BpeModel::kNone; });
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
                      {"byte_fallback", !model.byte_level && has_byte_tokens(model)}};
  if (model.whole_pieces) json["ignore_merges"] = true;
  json["vocab"] = std::move(vocabulary);
  json["merges"] = std::move(merges);
  if (!model.ranks.empty()) json["ranks"] = model.ranks;
  return json;
}

}  // namespace

std::string to_tokenizer_json(const BpeModel& model) {
  OrderedJson file = {{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", added_tokens(model)},
                      {"normalizer", normalizer(model)},
                      {"pre_tokenizer", pre_tokenizer(model)},
                      {"post_processor", post_processor(model)},
                      {"decoder", decoder(model)},
                      {"model", bpe(model)}};
  return file.dump(1) + "\n";
}

}  // namespace sink
