#include "engine/data/tokenizer/added_tokens.h"

#include <algorithm>
#include <unordered_map>

#include "engine/data/tokenizer/character_class.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

bool has_class(std::string_view text, std::size_t at, std::uint8_t bits) {
  std::uint32_t code = 0;
  return utf8_length(text, at, &code) > 0 && (character_classes()[code] & bits);
}

// Where the character before `at` begins.
std::size_t before(std::string_view text, std::size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && has_class(text, before(text, begin), kInWord)) ||
         (end < text.size() && has_class(text, end, kInWord));
}

}  // namespace

std::vector<std::string_view> end_tokens_among(const std::function<bool(std::string_view)>& has) {
  const bool ends_parts =
      (has("<|return|>") && has("<|call|>")) || (has("<|flush|>") && (has("<|call|>") || has("<|calls|>")));
  std::vector<std::string_view> names;
  for (const std::string_view name : kEndTokenNames)
    if (has(name) && !(ends_parts && name == "<|end|>")) names.push_back(name);
  return names;
}

std::string_view without_leading_space(std::string_view text) {
  while (!text.empty() && has_class(text, 0, kSpace))
    text.remove_prefix(static_cast<std::size_t>(utf8_length(text, 0)));
  return text;
}

std::vector<std::int32_t> ids_of_package(const BpeModel& model) {
  const auto size = static_cast<std::int32_t>(std::ranges::count(model.in_vocabulary, true));
  std::int32_t largest = BpeModel::kNone;  // of the added ones
  std::unordered_map<std::string_view, std::int32_t> given;
  std::vector<std::int32_t> ids;
  for (const AddedToken& token : model.added) {
    const bool known = model.in_vocabulary[static_cast<std::size_t>(token.id)];
    const std::int32_t id = known ? token.id : std::max(size, largest + 1);
    ids.push_back(given.emplace(token.content, id).first->second);
    largest = std::max(largest, ids.back());
  }
  return ids;
}

AddedTokens::AddedTokens(const BpeModel& model, bool normalized) {
  first_.fill(BpeModel::kNone);
  std::string composed, spaced;
  for (const AddedToken& token : model.added) {
    if (token.normalized != normalized) continue;
    tokens_.push_back(token);
    std::string_view content = token.content;
    if (normalized) content = normal_form(model, content, composed, spaced);
    insert(content, static_cast<std::int32_t>(tokens_.size()) - 1);
  }
}

void AddedTokens::insert(std::string_view content, std::int32_t token) {
  std::int32_t* link = &first_[static_cast<unsigned char>(content[0])];
  for (std::size_t i = 0;;) {
    if (*link == BpeModel::kNone) {
      *link = static_cast<std::int32_t>(nodes_.size());
      nodes_.emplace_back();
      link = nullptr;  // the vector may have moved
    }
    auto node = link ? static_cast<std::size_t>(*link) : nodes_.size() - 1;
    if (++i == content.size()) {
      if (nodes_[node].token == BpeModel::kNone) nodes_[node].token = token;
      return;
    }
    auto& next = nodes_[node].next;
    auto found = std::find_if(next.begin(), next.end(), [&](const auto& edge) { return edge.first == content[i]; });
    if (found == next.end()) found = next.insert(next.end(), {content[i], BpeModel::kNone});
    link = &found->second;
  }
}

// The longest token at `at`, or kNone.
std::int32_t AddedTokens::longest_at(std::string_view text, std::size_t at, std::size_t& end) const {
  std::int32_t longest = BpeModel::kNone, node = first_[static_cast<unsigned char>(text[at])];
  while (node != BpeModel::kNone) {
    const Node& here = nodes_[static_cast<std::size_t>(node)];
    ++at;
    if (here.token != BpeModel::kNone) {
      longest = here.token;
      end = at;
    }
    node = BpeModel::kNone;
    if (at == text.size()) break;
    for (const auto& [byte, next] : here.next) {
      if (byte == text[at]) node = next;
    }
  }
  return longest;
}

void AddedTokens::split(std::string_view text, std::vector<Stretch>& stretches) const {
  std::size_t done = 0;   // bytes that are in `stretches`
  std::size_t taken = 0;  // up to where a token took white space
  for (std::size_t at = 0, end = 0; at < text.size() && !tokens_.empty();) {
    std::int32_t found = longest_at(text, at, end);
    if (found == BpeModel::kNone) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    std::size_t from = at;
    at = end;
    if (token.single_word && touches_word(text, from, end)) continue;
    if (token.takes_left) {
      while (from > done && has_class(text, before(text, from), kSpace)) from = before(text, from);
    }
    if (done < from) stretches.push_back({BpeModel::kNone, text.substr(done, from - done)});
    stretches.push_back({token.id, {}, token.takes_right});
    done = at;  // the next token may begin in the white space that this one takes
    if (token.takes_right) {
      done = std::max(done, taken);  // what is known to be white space
      while (done < text.size() && has_class(text, done, kSpace))
        done += static_cast<std::size_t>(utf8_length(text, done));
      taken = done;
    }
  }
  if (done < text.size()) stretches.push_back({BpeModel::kNone, text.substr(done)});
}

}  // namespace sink
