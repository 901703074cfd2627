#include "engine/data/tokenizer/tokenizer_steps.h"

#include "engine/check.h"

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

// A Split by one of the known patterns, each match a piece of its own.
Cut split_of(const Json& step, const std::string& path) {
  const Json& pattern = step.at("pattern");
  bool known = pattern.is_object() && pattern.contains("Regex");
  if (known && step.value("behavior", "") == "Isolated" && !uses_option(step, "invert")) {
    auto regex = pattern.at("Regex").get<std::string>();
    if (regex == kWordsPattern) return Cut::words;
    if (regex == kLlama3Pattern) return Cut::llama3_words;
  }
  reject_tokenizer(path,
                   "the pre-tokenizer Split is not by the pattern of GPT-2 or LLaMA 3, isolated: " + brief_json(step));
}

void read_byte_level(const Json& step, BpeModel& model) {
  model.prefix_space = step.value("add_prefix_space", true);
  model.words = step.value("use_regex", true);
}

void read_pre_tokenizer(const Json& file, BpeModel& model, const std::string& path) {
  std::vector<const Json*> steps = steps_of(file, "pre_tokenizer", "pretokenizers", path);
  if (steps.empty() || type_of(*steps.back()) != "ByteLevel")
    reject_tokenizer(path, "the pre-tokenizer does not end with ByteLevel");
  read_byte_level(*steps.back(), model);
  steps.pop_back();
  for (const Json* step : steps) {
    std::string type = type_of(*step);
    if (type == "Split") {
      model.cuts.push_back(split_of(*step, path));
    } else if (type == "Digits") {
      model.cuts.push_back(uses_option(*step, "individual_digits") ? Cut::each_digit : Cut::digit_runs);
    } else {
      reject_tokenizer(path, "the pre-tokenizer " + brief_json(*step) + " before ByteLevel is not supported");
    }
  }
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
  fail("tokenizer", path + ": " + why + "; expected a tokenizer.json of byte-level BPE (as GPT-2 or GPT-NeoX)",
       Exit::bad_input);
}

std::string brief_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, kShown);
}

bool uses_option(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && !found->is_null() && *found != Json(false) && *found != Json("") &&
         *found != Json(0.0);
}

void read_tokenizer_steps(const Json& file, BpeModel& model, const std::string& path) {
  for (const Json* step : steps_of(file, "normalizer", "normalizers", path)) {
    if (type_of(*step) != "NFC") reject_tokenizer(path, "the normalizer is " + brief_json(*step));
    model.nfc = true;
  }
  read_pre_tokenizer(file, model, path);
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
