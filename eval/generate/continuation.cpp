#include "eval/generate/continuation.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include "engine/check.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The length of the text without an incomplete last character.
std::size_t end_of_whole_characters(const std::string& text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t bytes = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return bytes > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace

std::vector<std::int32_t> stop_tokens(const Checkpoint& checkpoint, const Tokenizer* tokenizer) {
  std::vector<std::int32_t> stops;
  if (checkpoint.attributes.contains("end_tokens")) {
    std::istringstream words(checkpoint.attribute("end_tokens"));
    for (std::string word; words >> word;) {
      const std::optional<std::int32_t> id = parse_number<std::int32_t>(word);
      if (!id || *id < 0)
        throw Error(checkpoint.path + ": `end_tokens` is " + in_quotes(checkpoint.attribute("end_tokens")) +
                        "; expected ids of tokens with blanks between them",
                    Exit::corrupt_checkpoint);
      stops.push_back(*id);
    }
  }
  if (!tokenizer) return stops;
  auto id_of = [&](std::string_view name) -> std::optional<std::int32_t> {
    const std::vector<std::int32_t> ids = tokenizer->encode(name);
    if (ids.size() != 1 || tokenizer->decode(ids) != name) return std::nullopt;  // such as one unknown token
    return ids[0];
  };
  for (const std::string_view name : end_tokens_among([&](std::string_view name) { return id_of(name).has_value(); }))
    stops.push_back(*id_of(name));
  return stops;
}

Continuation continue_text(TokenReader& reader, std::span<const std::int32_t> prompt, std::int64_t tokens,
                           const Sampling& sampling, const std::vector<std::int32_t>& stops,
                           const std::function<void(std::int32_t)>& each, std::uint64_t drawn) {
  Continuation text;
  auto start = std::chrono::steady_clock::now();
  Tensor logits_1V = reader.read(prompt);
  text.prompt_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  while (static_cast<std::int64_t>(text.ids.size()) < tokens) {
    const std::int32_t id = sampling.choose(logits_1V, drawn++);
    if (std::find(stops.begin(), stops.end(), id) != stops.end()) {
      text.end = ContinuationEnd::stop_token;
      text.stop_token = id;
      break;
    }
    text.ids.push_back(id);
    each(id);
    if (static_cast<std::int64_t>(text.ids.size()) == tokens) break;
    if (reader.room() < 1) {
      text.end = ContinuationEnd::context;
      break;
    }
    logits_1V = reader.read({&id, 1});
  }
  text.seconds = seconds_since(start);
  return text;
}

TextPieces::TextPieces(const Tokenizer& tokenizer, std::vector<std::int32_t> before)
    : tokenizer_(tokenizer), ids_(std::move(before)) {
  given_ = text().size();
}

std::string TextPieces::add(std::int32_t id) {
  ids_.push_back(id);
  const std::string all = text();
  const std::size_t end = std::max(given_, end_of_whole_characters(all));
  std::string piece = all.substr(given_, end - given_);
  given_ = end;
  return piece;
}

}  // namespace sink
