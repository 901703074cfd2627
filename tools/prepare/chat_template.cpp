#include "tools/prepare/chat_template.h"

#include "engine/check.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/setting.h"

namespace sink {
namespace {

constexpr ChatTemplate kChatTemplates[] = {{"plain", "<|", "|>\n", "<|end|>"},
                                           {"zephyr", "<|", "|>\n", nullptr},
                                           {"chatml", "<|im_start|>", "\n", "<|im_end|>"}};

Tokenizer without_special_tokens(const Tokenizer& tokenizer) {
  BpeModel model = parse_tokenizer_json(tokenizer.json(), "the tokenizer");
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

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer, const ChatTemplate& form)
    : tokenizer_(tokenizer), content_tokenizer_(without_special_tokens(tokenizer)), form_(form) {}

// One cache serves both tokenizers: they make the same of a piece, for they differ in what is found before text is cut.
ChatTokens ChatEncoder::encode(std::string_view text, const std::vector<ChatTurn>& turns, EncodeCache& cache) const {
  ChatTokens tokens;
  std::vector<std::int32_t> end{tokenizer_.end_of_text()}, line_end = tokenizer_.encode("\n", cache);
  if (form_.end) end = tokenizer_.encode(form_.end, cache);
  for (const ChatTurn& turn : turns) {
    bool predicted = turn.role == ChatRole::assistant;
    append(tokenizer_.encode(std::string(form_.before) + name_of(turn.role) + form_.behind, cache), false, tokens);
    append(content_tokenizer_.encode(text.substr(0, turn.bytes), cache), predicted, tokens);
    append(end, predicted, tokens);
    append(line_end, false, tokens);
    text.remove_prefix(turn.bytes);
  }
  append({tokenizer_.end_of_text()}, false, tokens);
  return tokens;
}

}  // namespace sink
