// A conversation as people and assistants had it: the turns in a JSON object of a chat data set.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sink {

enum class ChatRole { system, user, assistant };

// Who said what: `bytes` bytes of a text in which the turns of a conversation follow each other.
struct ChatTurn {
  ChatRole role = ChatRole::user;
  std::size_t bytes = 0;
  bool operator==(const ChatTurn&) const = default;
};

const char* name_of(ChatRole role);  // "system", "user", "assistant"

// The turns of {"messages": [{"role": "system|user|assistant", "content": "..."}, ...]}, as UltraChat has them, or of
// {"conversations": [{"from": "system|human|gpt", "value": "..."}, ...]}, as ShareGPT has them; `text` becomes what was
// said, end to end. What else the object holds is passed over. Throws JsonFailure, naming the turn from 1.
std::vector<ChatTurn> read_conversation(const nlohmann::json& object, std::string& text);

// Whether an assistant says something, other than white space.
bool has_answer(std::string_view text, const std::vector<ChatTurn>& turns);

// What tells one conversation from another: who says how much, and all that is said.
std::string conversation_identity(std::string_view text, const std::vector<ChatTurn>& turns);

}  // namespace sink
