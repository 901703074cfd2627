#include "engine/data/chat/chat_template.h"

#include "engine/check.h"
#include "engine/io/setting.h"

namespace sink {
namespace {

constexpr ChatTemplate kChatTemplates[] = {{"plain", "<|", "|>\n", "<|end|>"},
                                           {"zephyr", "<|", "|>\n", nullptr},
                                           {"chatml", "<|im_start|>", "\n", "<|im_end|>"},
                                           {"llama3", "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", ""},
                                           {"gemma", "<start_of_turn>", "\n", "<end_of_turn>", "\n", "model", false}};

Tokenizer without_special_tokens(const Tokenizer& tokenizer) {
  BpeModel model = tokenizer.model();
  std::erase_if(model.added, [](const AddedToken& token) { return token.special; });
  return Tokenizer(std::move(model));
}

void append(const std::vector<std::int32_t>& ids, bool predicted, ChatTokens& tokens) {
  tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
  tokens.predicted.resize(tokens.ids.size(), predicted ? 1 : 0);
}

}  // namespace

std::vector<std::string> chat_template_names() {
  std::vector<std::string> names;
  for (const ChatTemplate& form : kChatTemplates) names.emplace_back(form.name);
  return names;
}

const ChatTemplate& chat_template_named(const std::string& name) {
  for (const ChatTemplate& form : kChatTemplates)
    if (name == form.name) return form;
  fail("prepare", "there is no template `" + name + "`" + did_you_mean(name, chat_template_names()), Exit::usage);
}

const ChatTemplate* chat_template_of(const Tokenizer& tokenizer) {
  for (const ChatTemplate& form : kChatTemplates)
    if (form.end && tokenizer.encode(form.before).size() == 1 && tokenizer.encode(form.end).size() == 1) return &form;
  return nullptr;
}

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer, const ChatTemplate& form)
    : tokenizer_(tokenizer), content_tokenizer_(without_special_tokens(tokenizer)), form_(form) {}

// Both tokenizers share a cache: they differ only in added tokens, which are found before text is cut into pieces.
std::vector<std::int32_t> ChatEncoder::before(ChatRole role, TextPlace& place, EncodeCache& cache) const {
  if (role == ChatRole::system && !form_.has_system)
    throw Error("the template " + std::string(form_.name) +
                    " has no turn of the system; expected its text at the beginning of the first turn of the user",
                Exit::bad_input);
  const std::string name = role == ChatRole::assistant ? form_.assistant : name_of(role);
  return tokenizer_.encode(form_.before + name + form_.after, place, cache);
}
std::vector<std::int32_t> ChatEncoder::content(std::string_view text, TextPlace& place, EncodeCache& cache) const {
  return content_tokenizer_.encode(text, place, cache);
}
std::vector<std::int32_t> ChatEncoder::end(TextPlace& place, EncodeCache& cache) const {
  if (form_.end) return tokenizer_.encode(form_.end, place, cache);
  place = TextPlace::after_token;
  return {tokenizer_.end_of_text()};
}
std::vector<std::int32_t> ChatEncoder::between(TextPlace& place, EncodeCache& cache) const {
  return tokenizer_.encode(form_.between, place, cache);
}

ChatTokens ChatEncoder::encode(std::string_view text, const std::vector<ChatTurn>& turns, EncodeCache& cache) const {
  ChatTokens tokens;
  TextPlace place = TextPlace::at_begin;
  for (const ChatTurn& turn : turns) {
    bool predicted = turn.role == ChatRole::assistant;
    append(before(turn.role, place, cache), false, tokens);
    append(content(text.substr(0, turn.bytes), place, cache), predicted, tokens);
    append(end(place, cache), predicted, tokens);
    append(between(place, cache), false, tokens);
    text.remove_prefix(turn.bytes);
  }
  append({tokenizer_.end_of_text()}, false, tokens);
  return tokens;
}

}  // namespace sink
