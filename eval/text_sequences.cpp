#include "eval/text_sequences.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/bounded_json.h"
#include "engine/io/printable.h"
#include "model/open/open_model.h"

namespace sink {
namespace {

constexpr const char* kTokenizerAttribute = "tokenizer_json";

void require_ids(const std::vector<std::int32_t>& ids, std::int64_t vocabulary) {
  for (std::int32_t id : ids)
    SINK_CHECK(id >= 0 && id < vocabulary, "text",
               "the text has token " + std::to_string(id) + ", the model's vocabulary " + std::to_string(vocabulary) +
                   " tokens: give the tokenizer that the model was trained with",
               Exit::bad_input);
}

// `twice`: the number of texts that begin with the token that is put before them.
void note_begin_token(const Tokenizer& tokenizer, std::int64_t token, std::int64_t twice) {
  if (twice == 0) return;
  const auto id = static_cast<std::int32_t>(token);
  std::fprintf(
      stderr,
      "note: %s with %s, and it is also put before a text, so the model reads it twice; --no-bos leaves out the "
      "added one\n",
      twice == 1 ? "the text begins" : (std::to_string(twice) + " texts begin").c_str(),
      (id < tokenizer.vocabulary() ? tokenizer.token_text(id) : std::to_string(id)).c_str());
}

}  // namespace

void print_text_notes(const Checkpoint& checkpoint, std::string_view text) {
  if (checkpoint.attributes.contains("text_note"))
    std::fprintf(stderr, "note: %s\n", printable(checkpoint.attribute("text_note")).c_str());
  if (!checkpoint.attributes.contains("begin_rule") || checkpoint.attribute("begin_rule") != kLlama2cBeginRule) return;
  for (const char* token : {"<unk>", "<s>", "</s>"})
    if (text.find(token) != std::string_view::npos)
      std::fprintf(stderr, "note: %s in the text becomes one id here; llama2.c reads it as characters\n", token);
}

Tokenizer tokenizer_of(const Checkpoint& checkpoint, const std::string& data_folder) {
  if (checkpoint.attributes.contains(kTokenizerAttribute))
    return Tokenizer(parse_tokenizer_json(checkpoint.attribute(kTokenizerAttribute),
                                          checkpoint.path + " (" + kTokenizerAttribute + ")"));
  if (checkpoint.attributes.contains("text_refusal"))
    throw Error(
        checkpoint.path + ": " + printable(checkpoint.attribute("text_refusal")) + ", so it can be given no text",
        Exit::usage);
  if (!data_folder.empty()) return Tokenizer::load(data_folder + "/tokenizer.json");
  throw Error(checkpoint.path + " has no tokenizer: give --data FOLDER, where `prepare` wrote tokenizer.json; a " +
                  "command that has --tokens FILE reads token ids themselves",
              Exit::usage);
}

std::function<std::string(std::int32_t)> token_labels(const Checkpoint& checkpoint, const DataSource* data) {
  if (data) return [data](std::int32_t id) { return data->token_text(id); };
  if (!checkpoint.attributes.contains(kTokenizerAttribute)) return [](std::int32_t id) { return std::to_string(id); };
  auto tokenizer = std::make_shared<Tokenizer>(tokenizer_of(checkpoint, ""));
  return [tokenizer](std::int32_t id) {
    return id < tokenizer->vocabulary() ? tokenizer->token_text(id) : std::to_string(id);
  };
}

Tensor text_sequences(const Tokenizer& tokenizer, const std::string& text, const TextCut& cut) {
  std::vector<std::int32_t> ids = tokenizer.encode(text);
  require_ids(ids, cut.vocabulary);
  auto count = static_cast<std::int64_t>(ids.size());
  // A sequence too short for the fixed token has none.
  bool fixed = cut.fixed_token >= 0 &&
               cut.fixed_position <= (cut.context > 0 ? cut.context : std::min(cut.max_tokens, count + 1));
  if (fixed) require_ids({static_cast<std::int32_t>(cut.fixed_token)}, cut.vocabulary);
  std::int64_t T = cut.context > 0 ? cut.context : std::min(cut.max_tokens, count + fixed), from_text = T - fixed;
  SINK_CHECK(count > 0 && T >= cut.min_tokens, "text",
             std::string("expected text of at least ") + (cut.min_tokens == 1 ? "one token" : "two tokens") + ", got " +
                 std::to_string(count) + (fixed ? " and a fixed one" : ""),
             Exit::bad_input);
  SINK_CHECK(count >= from_text, "text",
             "the text has " + counted(count + fixed, "token") + ", --context asks for " + std::to_string(T) +
                 ": give more text or a smaller --context",
             Exit::bad_input);
  if (fixed && cut.fixed_position == 1) note_begin_token(tokenizer, cut.fixed_token, ids[0] == cut.fixed_token);
  std::int64_t N = count / from_text;
  if (std::int64_t left = count - N * from_text; left > 0)
    std::fprintf(stderr, "note: the last %lld of %lld tokens fill no sequence of %lld and are left out\n",
                 static_cast<long long>(left), static_cast<long long>(count), static_cast<long long>(T));
  const std::int32_t* next = ids.data();
  return Tensor::table<std::int32_t>(N, T, [&](std::int64_t, std::int64_t t) {
    return fixed && t + 1 == cut.fixed_position ? static_cast<std::int32_t>(cut.fixed_token) : *next++;
  });
}

TextLines read_text_lines(const std::string& path, const Tokenizer& tokenizer, const TextCut& cut) {
  const std::int64_t T = cut.context;
  const bool fixed = cut.fixed_token >= 0 && cut.fixed_position <= T;
  std::vector<std::int32_t> tokens;
  std::vector<std::string> domains;
  std::int64_t short_ones = 0, twice = 0;
  for_each_json_line("text", path, [&](const nlohmann::json& object, std::int64_t) {
    const auto text = object.find("text"), domain = object.find("domain");
    if (text == object.end() || !text->is_string()) throw JsonFailure("expected a text `text`");
    if (domain != object.end() && !domain->is_string()) throw JsonFailure("expected a text as `domain`");
    std::vector<std::int32_t> ids = tokenizer.encode(text->get_ref<const std::string&>());
    if (static_cast<std::int64_t>(ids.size()) < T - fixed) {
      ++short_ones;
      return true;
    }
    twice += fixed && cut.fixed_position == 1 && !ids.empty() && ids[0] == cut.fixed_token;
    if (fixed) ids.insert(ids.begin() + (cut.fixed_position - 1), static_cast<std::int32_t>(cut.fixed_token));
    tokens.insert(tokens.end(), ids.begin(), ids.begin() + T);
    domains.push_back(domain == object.end() ? "" : domain->get<std::string>());
    return true;
  });
  SINK_CHECK(!domains.empty(), "text",
             path + " has no text of " + std::to_string(T) + " tokens: give longer ones or a smaller --context",
             Exit::bad_input);
  note_begin_token(tokenizer, cut.fixed_token, twice);
  if (short_ones > 0)
    std::fprintf(stderr, "note: %lld texts have fewer than %lld tokens and are left out\n",
                 static_cast<long long>(short_ones), static_cast<long long>(T));
  return {Tensor::from<std::int32_t>({static_cast<std::int64_t>(domains.size()), T}, tokens), std::move(domains)};
}

}  // namespace sink
