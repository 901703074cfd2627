#include "eval/interventions/intervention_file.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/check.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "engine/io/settings_toml.h"

namespace sink {
namespace {

using What = Intervention::What;

constexpr std::size_t kMaxName = 40;       // of an intervention
constexpr std::size_t kMaxEntries = 1000;  // interventions in a file, and elements of a list
constexpr double kLargestNumber = 1e6;

const std::map<std::string, What> kWhats{
    {"mask", What::mask},   {"redistribute", What::redistribute}, {"key", What::key},   {"constant", What::constant},
    {"value", What::value}, {"quantise", What::quantise},         {"clip", What::clip}, {"head", What::head},
    {"patch", What::patch}};

// `"a"`, `"b"` or `"c"`
std::string one_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : &word == &words.back() ? " or " : ", ") + ("\"" + word + "\"");
  return text;
}

// The entries of one [[interventions]] section. Keys that are never asked for are unknown.
class Entries {
 public:
  Entries(const TomlSection& section, std::string where) : section_(section), where_(std::move(where)) {}

  [[noreturn]] void refuse(std::size_t line, const std::string& why) const {
    throw Error(where_ + ": line " + std::to_string(line) + ": " + why, Exit::usage);
  }
  std::string origin() const { return where_ + ": line " + std::to_string(section_.line); }
  std::size_t line() const { return section_.line; }

  // Null if missing.
  const TomlEntry* find(const std::string& key) {
    asked_.push_back(key);
    return first_of(key);
  }
  // The only value of an entry.
  std::string one(const TomlEntry& entry) const {
    if (entry.is_list) refuse(entry.line, entry.key + " has one value, no list");
    return entry.values.front();
  }

  void require_no_quotes(const TomlEntry& entry) const {
    if (std::find(entry.in_quotes.begin(), entry.in_quotes.end(), true) != entry.in_quotes.end())
      refuse(entry.line, entry.key + " must have no quotes");
  }

  std::string word(const std::string& key, const std::vector<std::string>& words, const std::string& otherwise) {
    const TomlEntry* entry = find(key);
    if (!entry) return otherwise;
    const std::string value = one(*entry);
    if (std::find(words.begin(), words.end(), value) == words.end())
      refuse(entry->line, entry->key + " is " + one_of(words) + ", got " + in_quotes(value));
    return value;
  }
  double number(const std::string& key, double low, double otherwise) {
    const TomlEntry* entry = find(key);
    if (!entry) return otherwise;
    const std::string text = one(*entry);
    require_no_quotes(*entry);
    const std::optional<double> value = parse_number<double>(text);
    if (!value || !(std::abs(*value) <= kLargestNumber) || *value < low || (low == 0 && *value == 0))
      refuse(entry->line, entry->key + " is a number " +
                              (low < 0 ? "from -1000000 to 1000000" : "above 0, 1000000 at most") + ", got " +
                              in_quotes(text));
    return *value;
  }
  std::int64_t whole(const TomlEntry& entry, const std::string& text, std::int64_t low, std::int64_t high) const {
    require_no_quotes(entry);
    const std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
    if (!value || *value < low || *value > high)
      refuse(entry.line, entry.key + (entry.is_list ? " must be integers" : " must be an integer") + " from " +
                             std::to_string(low) + " to " + std::to_string(high) + ", got " + in_quotes(text));
    return *value;
  }
  int bits(const std::string& key) {
    const TomlEntry* entry = find(key);
    return entry ? static_cast<int>(whole(*entry, one(*entry), 2, 16)) : 0;
  }
  // Sorted; a single number is a list of one.
  std::vector<std::int64_t> places(const std::string& key, std::int64_t low, std::vector<std::int64_t> otherwise) {
    const TomlEntry* entry = find(key);
    if (!entry) return otherwise;
    if (entry->values.empty() || entry->values.size() > kMaxEntries)
      refuse(entry->line, entry->key + " must be a list of 1 to 1000 integers, got " +
                              std::to_string(entry->values.size()) + "; leave it out for the default");
    std::vector<std::int64_t> numbers;
    for (const std::string& text : entry->values) numbers.push_back(whole(*entry, text, low, 1'000'000'000));
    std::sort(numbers.begin(), numbers.end());
    if (auto twice = std::adjacent_find(numbers.begin(), numbers.end()); twice != numbers.end())
      refuse(entry->line, entry->key + " has " + std::to_string(*twice) + " twice");
    return numbers;
  }
  // "2.5" is head 5 of layer 2. Sorted.
  std::vector<std::pair<std::int64_t, std::int64_t>> layer_heads(const std::string& key) {
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    const TomlEntry* entry = find(key);
    if (!entry) return found;
    for (const std::string& text : entry->values) {
      const std::size_t dot = text.find('.');
      const auto layer = parse_number<std::int64_t>(text.substr(0, dot)),
                 head = parse_number<std::int64_t>(dot == text.npos ? "" : text.substr(dot + 1));
      if (!layer || !head || *layer < 0 || *head < 0)
        refuse(entry->line, key + " are heads as \"LAYER.HEAD\", from 0, got " + in_quotes(text));
      found.emplace_back(*layer, *head);
    }
    std::ranges::sort(found);
    if (found.empty() || std::ranges::adjacent_find(found) != found.end())
      refuse(entry->line, key + " is a list of heads, each once");
    return found;
  }
  bool truth(const std::string& key) { return word(key, {"true", "false"}, "false") == "true"; }

  // Called after the last find(): throws for unknown and repeated keys.
  void require_no_others(const std::string& what) const {
    for (const TomlEntry& entry : section_.entries) {
      if (const TomlEntry* first = first_of(with_dashes(entry.key)); first != &entry)
        refuse(entry.line, "sets " + entry.key + " twice, first in line " + std::to_string(first->line));
      if (std::find(asked_.begin(), asked_.end(), with_dashes(entry.key)) == asked_.end())
        refuse(entry.line, "what = \"" + what + "\" has no " + in_quotes(entry.key) +
                               did_you_mean(with_dashes(entry.key), asked_) + " (it has " + joined(asked_, ", ") + ")");
    }
  }

 private:
  const TomlEntry* first_of(const std::string& key) const {
    for (const TomlEntry& entry : section_.entries)
      if (with_dashes(entry.key) == key) return &entry;
    return nullptr;
  }
  static std::string with_dashes(std::string key) {
    std::replace(key.begin(), key.end(), '_', '-');
    return key;
  }

  const TomlSection& section_;
  std::string where_;
  std::vector<std::string> asked_;
};

std::string read_name(Entries& entries) {
  const TomlEntry* entry = entries.find("name");
  if (!entry) entries.refuse(entries.line(), "an intervention has a name = \"...\"");
  const std::string name = entries.one(*entry);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ';
  };
  if (name.empty() || name.size() > kMaxName || !std::all_of(name.begin(), name.end(), allowed))
    entries.refuse(entry->line, "a name is of 1 to 40 letters, digits and blanks, got " + in_quotes(name));
  return name;
}

std::string list_of(const char* what, const std::vector<std::int64_t>& numbers) {
  std::string text = std::string(what) + (numbers.size() > 1 ? "s " : " ");
  for (std::size_t n = 0; n < numbers.size() && n < 8; ++n) text += (n ? ", " : "") + std::to_string(numbers[n]);
  return text + (numbers.size() > 8 ? " ..." : "");
}

std::string plain_number(double value) {
  std::string text = toml_number(value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string in_bits(int bits, const std::string& what, const std::string& scale) {
  return bits == 0 ? "" : what + " in " + std::to_string(bits) + " bits, a scale a " + scale;
}

void read_source_tokens(const Entries& entries, const TomlEntry& ids, Intervention& one) {
  std::vector<std::int32_t> tokens;
  for (const std::string& text : ids.values) {
    tokens.push_back(static_cast<std::int32_t>(entries.whole(ids, text, 0, 1'000'000'000)));
    one.source += (one.source.empty() ? "tokens " : " ") + text;
  }
  if (tokens.empty() || tokens.size() > kMaxEntries)
    entries.refuse(ids.line, "source-tokens must be a list of 1 to 1000 ids, got " + std::to_string(tokens.size()));
  one.source_BT = Tensor::from({1, static_cast<std::int64_t>(tokens.size())}, tokens);
}

// Reads the keys of this kind only. Returns the meaning of the intervention.
std::string read_kind(Entries& entries, Intervention& one) {
  const std::string of = list_of("token", one.tokens);
  switch (one.what) {
    case What::mask:
      return "later queries do not see " + of;
    case What::redistribute:
      return "the other weights of later queries make up for " + of;
    case What::constant:
      return "later queries all get as much of " + of;
    case What::value:
      one.mean_value = entries.word("value", {"zero", "mean"}, "zero") == "mean";
      return of + (one.mean_value ? ": its value is the others' mean" : ": its value is zero");
    case What::key:
      one.scale = entries.number("scale", -kLargestNumber, 1);
      one.along = entries.number("along", -kLargestNumber, 0);
      if (one.scale == 1 && one.along == 0)
        entries.refuse(entries.line(), "what = \"key\" has a scale other than 1, or an along other than 0");
      return of + ": its key times " + plain_number(one.scale) +
             (one.along == 0 ? "" : ", and " + plain_number(one.along) + " along it");
    case What::head:
      one.layer_heads = entries.layer_heads("layer-heads");
      if (!one.layer_heads.empty() && (!one.layers.empty() || !one.heads.empty() || one.per_head))
        entries.refuse(entries.line(), "layer-heads leaves no choice to layers, heads and per-head: leave them out");
      one.mean_value = entries.word("value", {"zero", "mean"}, "zero") == "mean";
      return std::string("the output of heads is ") + (one.mean_value ? "their mean" : "zero") +
             (one.layer_heads.empty() ? "" : ", of " + std::to_string(one.layer_heads.size()) + " heads") +
             (one.tokens.empty() ? "" : ", " + of);
    case What::patch: {
      const TomlEntry *text = entries.find("source"), *ids = entries.find("source-tokens");
      if ((text != nullptr) == (ids != nullptr) || (text && entries.one(*text).empty()))
        entries.refuse(entries.line(), "what = \"patch\" has a source = \"another text\", or its ids as source-tokens");
      if (text) one.source = entries.one(*text);
      if (ids) read_source_tokens(entries, *ids, one);
      return std::string(one.of_residual ? "the residual stream after blocks" : "the output of heads") +
             " is that of the source" + (one.tokens.empty() ? "" : ", " + of);
    }
    case What::clip:
      one.largest = entries.number("largest", 0, 0);
      one.medians = entries.number("medians", 0, 0);
      if ((one.largest > 0) == (one.medians > 0))
        entries.refuse(entries.line(), "what = \"clip\" has largest or medians, one of them");
      return "residual stream at most " +
             (one.largest > 0 ? plain_number(one.largest) : plain_number(one.medians) + " times its median") +
             (one.tokens.empty() ? "" : ", " + of);
    case What::quantise: {
      Quantisation& how = one.quantisation;
      how.weight_bits = entries.bits("weight-bits");
      how.input_bits = entries.bits("input-bits");
      if (how.weight_bits + how.input_bits == 0)
        entries.refuse(entries.line(), "what = \"quantise\" has weight-bits or input-bits, or both");
      const std::string weights = entries.word("weights-per", {"tensor", "channel"}, "channel");
      const std::string inputs = entries.word("inputs-per", {"tensor", "channel", "token"}, "tensor");
      how.weights = weights == "tensor" ? Grain::tensor : Grain::channel;
      how.inputs = inputs == "tensor" ? Grain::tensor : inputs == "channel" ? Grain::channel : Grain::token;
      how.inner = entries.word("inputs", {"products", "sublayers"}, "products") == "products";
      const std::string of_weights = in_bits(how.weight_bits, "matrices", weights),
                        of_inputs =
                            in_bits(how.input_bits, how.inner ? "what products read" : "what sublayers read", inputs);
      return of_weights + (of_weights.empty() || of_inputs.empty() ? "" : "; ") + of_inputs;
    }
  }
  return "";  // unreachable
}

Intervention read_intervention(const TomlSection& section, const std::string& where) {
  Entries entries(section, where);
  Intervention one;
  one.origin = entries.origin();
  one.name = read_name(entries);
  std::vector<std::string> whats;
  for (const auto& [name, what] : kWhats) whats.push_back(name);
  const std::string what = entries.word("what", whats, "");
  if (what.empty()) entries.refuse(section.line, "an intervention has what = " + one_of(whats));
  one.what = kWhats.at(what);
  const bool of_all_tokens = one.what == What::clip || one.what == What::head || one.what == What::patch;
  if (one.what != What::quantise) {
    one.tokens = entries.places("tokens", 1, of_all_tokens ? std::vector<std::int64_t>() : one.tokens);
    one.layers = entries.places("layers", 0, {});
  }
  if (one.what == What::patch) one.of_residual = entries.word("at", {"residual", "heads"}, "residual") == "residual";
  if (one.of_residual) one.per_token = entries.truth("per-token");
  if (one.what != What::clip && one.what != What::quantise && !one.of_residual) {
    one.heads = entries.places("heads", 0, {});
    one.per_head = entries.truth("per-head");
  }
  one.meaning = read_kind(entries, one);
  entries.require_no_others(what);
  if (!one.layers.empty()) one.meaning += "; " + list_of("layer", one.layers);
  if (!one.heads.empty()) one.meaning += "; " + list_of("head", one.heads);
  return one;
}

}  // namespace

std::vector<Intervention> interventions_from_toml(const std::string& text, const std::string& where) {
  auto refuse = [&](std::size_t line, const std::string& why) {
    throw Error(where + ": line " + std::to_string(line) + ": " + why, Exit::usage);
  };
  std::vector<Intervention> all;
  for (const TomlSection& section : read_sections_toml(text, where, Exit::usage)) {
    if (section.name.empty()) {
      if (!section.entries.empty())
        refuse(section.entries[0].line, "expected [[interventions]] before " + in_quotes(section.entries[0].key));
      continue;
    }
    if (section.name != "interventions" || !section.repeated)
      refuse(section.line, "expected [[interventions]], got the section " + in_quotes(section.name));
    all.push_back(read_intervention(section, where));
    for (std::size_t n = 0; n + 1 < all.size(); ++n)
      if (all[n].name == all.back().name)
        refuse(section.line, "the name " + in_quotes(all[n].name) + " is given twice");
    if (all.size() > kMaxEntries) refuse(section.line, "more than 1000 interventions");
  }
  if (all.empty()) refuse(1, "expected interventions: [[interventions]] with name = \"...\" and what = \"...\"");
  return all;
}

}  // namespace sink
