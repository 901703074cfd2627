#include "engine/data/chat/conversation.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/io/bounded_json.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

using Json = nlohmann::json;

// The keys and roles of a data set.
struct ChatForm {
  const char *list, *role, *content;
  std::array<const char*, 3> roles;  // by ChatRole
};

constexpr ChatForm kForms[] = {{"messages", "role", "content", {"system", "user", "assistant"}},
                               {"conversations", "from", "value", {"system", "human", "gpt"}}};

// The text of a key of a turn, or null.
const std::string* text_of(const Json& turn, const char* key) {
  if (!turn.is_object()) return nullptr;
  auto found = turn.find(key);
  return found != turn.end() ? found->get_ptr<const std::string*>() : nullptr;
}

std::optional<ChatRole> role_named(const ChatForm& form, const std::string& name) {
  for (std::size_t role = 0; role < form.roles.size(); ++role)
    if (name == form.roles[role]) return static_cast<ChatRole>(role);
  return std::nullopt;
}

ChatTurn read_turn(const ChatForm& form, const Json& turn, std::size_t number, std::string& text) {
  const std::string *role = text_of(turn, form.role), *content = text_of(turn, form.content);
  const std::string place = std::string(form.list) + ", turn " + std::to_string(number) + ": ";
  if (!role || !content)
    throw JsonFailure(place + "expected an object with texts `" + form.role + "` and `" + form.content + "`");
  std::optional<ChatRole> known = role_named(form, *role);
  if (!known)
    throw JsonFailure(place + "the " + form.role + " is " + in_quotes(*role) + ", expected " + form.roles[0] + ", " +
                      form.roles[1] + " or " + form.roles[2]);
  text += *content;
  return {*known, content->size()};
}

}  // namespace

const char* name_of(ChatRole role) { return kForms[0].roles[static_cast<std::size_t>(role)]; }

std::vector<ChatTurn> read_conversation(const Json& object, std::string& text) {
  text.clear();
  for (const ChatForm& form : kForms) {
    auto list = object.is_object() ? object.find(form.list) : object.end();
    if (list == object.end() || !list->is_array()) continue;
    std::vector<ChatTurn> turns;
    for (const Json& turn : *list) turns.push_back(read_turn(form, turn, turns.size() + 1, text));
    return turns;
  }
  throw JsonFailure("expected an object with a list `messages` (of role and content) or `conversations` (from, value)");
}

bool has_answer(std::string_view text, const std::vector<ChatTurn>& turns) {
  std::size_t begin = 0;
  for (const ChatTurn& turn : turns) {
    bool has_words = text.substr(begin, turn.bytes).find_first_not_of(" \t\r\n") != std::string_view::npos;
    if (has_words && turn.role == ChatRole::assistant) return true;
    begin += turn.bytes;
  }
  return false;
}

std::string conversation_identity(std::string_view text, const std::vector<ChatTurn>& turns) {
  std::string identity;
  for (const ChatTurn& turn : turns) identity += name_of(turn.role) + (" " + std::to_string(turn.bytes)) + "\n";
  return identity.append(text);
}

}  // namespace sink
