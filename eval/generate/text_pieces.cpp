#include "eval/generate/text_pieces.h"

namespace sink {
namespace {

// Where the last character of a text begins, if its bytes are not all there; else the end.
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
