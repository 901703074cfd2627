// Conversations: the turns in a JSON object of a chat data set.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sink {

enum class ChatRole { system, user, assistant };

// A turn: the next `bytes` bytes of the concatenated text of a conversation.
struct ChatTurn {
  ChatRole role = ChatRole::user;
  std::size_t bytes = 0;
  bool operator==(const ChatTurn&) const = default;
};

const char* name_of(ChatRole role);  // "system", "user", "assistant"

// The turns of {"messages": [{"role": "system|user|assistant", "content": "..."}, ...]} (UltraChat) or of
// {"conversations": [{"from": "system|human|gpt", "value": "..."}, ...]} (ShareGPT); `text` becomes the concatenated
// contents. Other keys are ignored. Throws JsonFailure with the number of the turn, from 1.
std::vector<ChatTurn> read_conversation(const nlohmann::json& object, std::string& text);

// Whether an assistant turn has more than white space.
bool has_answer(std::string_view text, const std::vector<ChatTurn>& turns);

// A text that differs for different conversations: roles, lengths and contents.
std::string conversation_identity(std::string_view text, const std::vector<ChatTurn>& turns);

}  // namespace sink
