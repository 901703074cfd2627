#include "engine/data/tokenizer/tokenizer_steps.h"

#include <optional>
#include <string_view>

#include "engine/check.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kShown = 80;          // bytes of a value in a message
constexpr std::size_t kMostSteps = 16;      // of a kind
constexpr std::size_t kMostSpecial = 1000;  // tokens around a text

std::string type_of(const Json& step) { return step.at("type").get<std::string>(); }

// The steps of a kind: those of a Sequence, which may hold others, or the one there is; none where there is null.
void flatten(const Json& step, const char* list, std::vector<const Json*>& steps, const std::string& path) {
  if (step.is_null()) return;
  if (type_of(step) != "Sequence") {
    if (steps.size() == kMostSteps) reject_tokenizer(path, std::string("more than 16 ") + list);
    return steps.push_back(&step);
  }
  for (const Json& inner : step.at(list)) flatten(inner, list, steps, path);
}

std::vector<const Json*> steps_of(const Json& file, const char* key, const char* list, const std::string& path) {
  std::vector<const Json*> steps;
  auto found = file.find(key);
  if (found != file.end()) flatten(*found, list, steps, path);
  return steps;
}

bool is_string_pattern(const Json& step, std::string_view text) {
  const Json& pattern = step.at("pattern");
  return pattern.is_object() && pattern.contains("String") && pattern.at("String") == text;
}

// A Split by one of the known patterns, where each match is a piece (nothing is between matches), or Gemma's Split
// after every space.
Cut split_of(const Json& step, const std::string& path) {
  std::string behavior = step.value("behavior", "");
  bool inverted = uses_option(step, "invert");
  if (is_string_pattern(step, " ") && behavior == "MergedWithPrevious" && !inverted) return Cut::after_space;
  const Json& pattern = step.at("pattern");
  std::optional<Cut> cut;
  if (pattern.is_object() && pattern.contains("Regex")) cut = cut_of_pattern(pattern.at("Regex").get<std::string>());
  bool isolated = behavior == "Isolated" && !inverted;
  bool others_removed = behavior == "Removed" && inverted;  // which are none where words are cut
  if (cut && (isolated || (others_removed && *cut <= Cut::tekken_words))) return *cut;
  reject_tokenizer(path,
                   "the pre-tokenizer Split is not by the pattern of GPT-2, LLaMA 3, Qwen 2, o200k or Tekken, "
                   "isolated, nor as Gemma's: " +
                       brief_json(step));
}

void read_byte_level(const Json& step, BpeModel& model) {
  model.prefix_space = step.value("add_prefix_space", true) ? PrefixSpace::always : PrefixSpace::never;
  model.words = step.value("use_regex", true);
}

// Metaspace, as a pre-tokenizer or a decoder. Files of before `prepend_scheme` say `add_prefix_space` alone.
PrefixSpace prefix_of_metaspace(const Json& step, const std::string& path) {
  if (step.at("replacement") != kMetaspace)
    reject_tokenizer(path, "Metaspace writes spaces as " + brief_json(step.at("replacement")) + ", not as U+2581");
  std::string scheme = step.value("prepend_scheme", "always");
  if (scheme == "never") return PrefixSpace::never;
  auto old = step.find("add_prefix_space");
  if ((scheme != "always" && scheme != "first") || (old != step.end() && *old == Json(false)))
    reject_tokenizer(path, "the prepend_scheme of Metaspace is not known: " + brief_json(step));
  return scheme == "always" ? PrefixSpace::always : PrefixSpace::first;
}

void read_metaspace(const Json& step, BpeModel& model, const std::string& path) {
  model.metaspace = true;
  model.prefix_space = prefix_of_metaspace(step, path);
  auto split = step.find("split");
  model.words = split == step.end() || split->is_null() || split->get<bool>();
}

// Cuts, and at their end ByteLevel, Metaspace or nothing.
void read_pre_tokenizer(const Json& file, BpeModel& model, const std::string& path) {
  std::vector<const Json*> steps = steps_of(file, "pre_tokenizer", "pretokenizers", path);
  std::string last = steps.empty() ? "" : type_of(*steps.back());
  model.byte_level = last == "ByteLevel";
  model.words = false;
  if (model.byte_level) read_byte_level(*steps.back(), model);
  if (last == "Metaspace") read_metaspace(*steps.back(), model, path);
  if (model.byte_level || model.metaspace) steps.pop_back();
  for (const Json* step : steps) {
    std::string type = type_of(*step);
    if (type == "Split") {
      model.cuts.push_back(split_of(*step, path));
    } else if (type == "Digits") {
      model.cuts.push_back(uses_option(*step, "individual_digits") ? Cut::each_digit : Cut::digit_runs);
    } else {
      reject_tokenizer(path, "the pre-tokenizer " + brief_json(*step) +
                                 " is not supported (ByteLevel and Metaspace are, as the last one)");
    }
  }
}

void read_normalizer(const Json& file, BpeModel& model, const std::string& path) {
  for (const Json* step : steps_of(file, "normalizer", "normalizers", path)) {
    std::string type = type_of(*step);
    if (type == "NFC") {
      model.nfc = true;
    } else if (!model.byte_level && type == "Prepend" && !model.prepends && step->at("prepend") == kMetaspace) {
      model.prepends = true;
    } else if (!model.byte_level && type == "Replace" && is_string_pattern(*step, " ") &&
               step->at("content") == kMetaspace) {
      model.replaces_spaces = true;
    } else {
      reject_tokenizer(path, "the normalizer is " + brief_json(*step));
    }
  }
}

// Of characters: Metaspace, or Replace, ByteFallback, Fuse and Strip in this order, of which the last three may be
// missing.
void read_decoder(const Json& file, BpeModel& model, const std::string& path) {
  std::vector<const Json*> steps = steps_of(file, "decoder", "decoders", path);
  auto next = [&](const char* type) {
    bool is_it = !steps.empty() && type_of(*steps.front()) == type;
    const Json* step = is_it ? steps.front() : nullptr;
    if (is_it) steps.erase(steps.begin());
    return step;
  };
  if (model.byte_level) {
    next("ByteLevel");
  } else if (const Json* metaspace = next("Metaspace")) {
    model.decodes_bytes = false;
    model.strips_first_token = prefix_of_metaspace(*metaspace, path) != PrefixSpace::never;
  } else {
    const Json* replace = next("Replace");
    if (!replace || !is_string_pattern(*replace, kMetaspace) || replace->at("content") != " ")
      reject_tokenizer(
          path,
          "the pre-tokenizer does not end with ByteLevel, and the decoder does not begin with Replace of U+2581 by a "
          "space, nor is it Metaspace");
    model.decodes_bytes = next("ByteFallback") != nullptr;
    const Json* strip = next("Fuse") ? next("Strip") : nullptr;
    if (strip) {
      if (strip->at("content") != " " || strip->at("stop") != 0 || !strip->at("start").is_number_unsigned())
        reject_tokenizer(path,
                         "the decoder " + brief_json(*strip) + " is not supported: it strips leading spaces alone");
      model.stripped_spaces = strip->at("start").get<std::size_t>();
    }
  }
  if (!steps.empty()) reject_tokenizer(path, "the decoder " + brief_json(*steps.front()) + " is not supported there");
}

// One part of a template: the text, or a special token with its ids.
void read_part(const Json& part, const Json& special, bool& has_text, std::vector<std::int32_t>& before,
               std::vector<std::int32_t>& after, const BpeModel& model, const std::string& path) {
  if (part.contains("Sequence")) {
    if (has_text || part.at("Sequence").value("id", "") != "A")
      reject_tokenizer(path, "the template " + brief_json(part) + " is not one text A");
    has_text = true;
    return;
  }
  for (const Json& id : special.at(part.at("SpecialToken").at("id").get<std::string>()).at("ids")) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= model.bytes.size())
      reject_tokenizer(path, "the template's token " + brief_json(id) + " is not in the vocabulary");
    std::vector<std::int32_t>& side = has_text ? after : before;
    if (side.size() == kMostSpecial) reject_tokenizer(path, "a template of more than 1000 tokens");
    side.push_back(id.get<std::int32_t>());
  }
}

void read_template(const Json& step, BpeModel& model, const std::string& path) {
  std::vector<std::int32_t> before, after;
  bool has_text = false;
  for (const Json& part : step.at("single"))
    read_part(part, step.at("special_tokens"), has_text, before, after, model, path);
  if (!has_text) reject_tokenizer(path, "the template " + brief_json(step.at("single")) + " has no text");
  model.before.insert(model.before.begin(), before.begin(), before.end());  // around what an earlier template made
  model.after.insert(model.after.end(), after.begin(), after.end());
}

}  // namespace

[[noreturn]] void reject_tokenizer(const std::string& path, const std::string& why) {
  fail("tokenizer",
       path + ": " + why + "; expected a tokenizer.json of byte-level BPE (as GPT-2, LLaMA 3 or Qwen 2) or " +
           "of BPE over characters (as LLaMA 2 or Gemma)",
       Exit::bad_input);
}

std::string brief_json(const Json& value) {
  return std::string(utf8_prefix(value.dump(-1, ' ', false, Json::error_handler_t::replace), kShown));
}

bool uses_option(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && !found->is_null() && *found != Json(false) && *found != Json("") &&
         *found != Json(0.0);
}

void read_text_steps(const Json& file, BpeModel& model, const std::string& path) {
  read_pre_tokenizer(file, model, path);
  read_normalizer(file, model, path);
  read_decoder(file, model, path);
}

void read_special_steps(const Json& file, BpeModel& model, const std::string& path) {
  for (const Json* step : steps_of(file, "post_processor", "processors", path)) {
    std::string type = type_of(*step);
    if (type == "TemplateProcessing") {
      read_template(*step, model, path);
    } else if (type != "ByteLevel") {  // which only moves offsets
      reject_tokenizer(path, "the post-processor " + brief_json(*step) + " is not supported");
    }
  }
}

}  // namespace sink
