#include "eval/score/scored_item.h"

#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/io/bounded_json.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

using nlohmann::json;

std::string text_field(const json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end() || !field->is_string())
    throw JsonFailure(std::string("expected a text `") + key + "`, got " +
                      (field == object.end() ? "none" : field->type_name()));
  return field->get<std::string>();
}

void read_choices(const json& object, ScoredItem& item) {
  const std::string query = text_field(object, "query");
  const auto gold = object.find("gold");
  const json& choices = object["choices"];
  if (!choices.is_array() || choices.size() < 2)
    throw JsonFailure("expected a list of at least two texts as `choices`");
  for (const json& choice : choices) {
    if (!choice.is_string() || choice.get_ref<const std::string&>().empty())
      throw JsonFailure("expected a text that is not empty as every one of the `choices`");
    const auto& text = choice.get_ref<const std::string&>();
    item.pairs.push_back({query, " " + text});
    item.bytes.push_back(text.size());
  }
  if (gold == object.end() || !gold->is_number_unsigned() || gold->get<std::size_t>() >= choices.size())
    throw JsonFailure("expected `gold` to be a whole number from 0 to " + std::to_string(choices.size() - 1));
  item.gold = gold->get<std::size_t>();
}

void read_last_word(const json& object, ScoredItem& item) {
  const std::string text = text_field(object, "text");
  const std::size_t blank = text.rfind(' ');
  if (blank == std::string::npos || blank == 0 || blank + 1 == text.size())
    throw JsonFailure("expected a `text` whose last word has a blank before it");
  item.pairs.push_back({text.substr(0, blank), text.substr(blank)});
}

void read_blank(const json& object, ScoredItem& item) {
  const std::string sentence = text_field(object, "sentence"), answer = text_field(object, "answer");
  const std::size_t blank = sentence.find('_');
  if (blank == std::string::npos) throw JsonFailure("expected a `sentence` with an underscore");
  const std::string rest(without_white_space_around(std::string_view(sentence).substr(blank + 1)));
  if (rest.empty()) throw JsonFailure("expected a `sentence` that continues after its underscore");
  for (const char* option : {"option1", "option2"})
    item.pairs.push_back({sentence.substr(0, blank) + text_field(object, option), " " + rest});
  item.bytes.assign(2, rest.size());
  if (answer != "1" && answer != "2") throw JsonFailure("expected `answer` to be \"1\" or \"2\"");
  item.gold = answer == "1" ? 0 : 1;
}

}  // namespace

ScoredItem scored_item(const json& object, std::int64_t line) {
  ScoredItem item;
  item.line = line;
  if (object.contains("continuation")) {
    item.pairs.push_back({text_field(object, "context"), text_field(object, "continuation")});
  } else if (object.contains("choices")) {
    item.kind = ItemKind::choices;
    read_choices(object, item);
  } else if (object.contains("option1")) {
    item.kind = ItemKind::blank;
    read_blank(object, item);
  } else if (object.contains("text")) {
    item.kind = ItemKind::last_word;
    read_last_word(object, item);
  } else {
    throw JsonFailure(
        "expected {context, continuation}, {query, choices, gold}, {sentence, option1, option2, answer} or {text}");
  }
  return item;
}

std::vector<ScoredItem> read_scored_items(const std::string& path, std::int64_t limit) {
  std::vector<ScoredItem> items;
  for_each_json_line("score", path, [&](const json& object, std::int64_t line) {
    items.push_back(scored_item(object, line));
    if (items.back().kind != items.front().kind)
      throw JsonFailure("expected fields as in line " + std::to_string(items.front().line) +
                        ": the lines of a file are of one kind");
    return static_cast<std::int64_t>(items.size()) != limit;
  });
  SINK_CHECK(!items.empty(), "score", path + " has no line to score", Exit::bad_input);
  return items;
}

}  // namespace sink
