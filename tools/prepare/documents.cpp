#include "tools/prepare/documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/data/tokenizer/bpe_model.h"
#include "engine/io/bounded_json.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> endings) {
  for (std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

DocumentReader::DocumentReader(const std::string& path, bool jsonl, const DocumentRules& rules)
    : path_(path), jsonl_(jsonl), rules_(rules), input_(path) {}

void DocumentReader::reject(const std::string& why) const { fail("text", path_ + ": " + why, Exit::bad_input); }

bool DocumentReader::next_line(std::string_view& line) {
  for (std::size_t searched = at_;;) {
    std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos || buffer_.size() - at_ > rules_.max_bytes + 2) {
      end = std::min(end, buffer_.size() - 1);
      line = std::string_view(buffer_).substr(at_, end + 1 - at_);
      break;
    }
    buffer_.erase(0, at_);
    at_ = 0;
    searched = buffer_.size();
    buffer_.resize(searched + kReadBytes);
    std::size_t got = input_.read(buffer_.data() + searched, kReadBytes);
    buffer_.resize(searched + got);
    digest_.add(buffer_.data() + searched, got);
    if (got > 0) continue;
    if (buffer_.empty()) return false;
    line = buffer_;
    break;
  }
  at_ += line.size();
  bytes_ += line.size();
  ++lines_;
  if (lines_ == 1) {
    mark_ = line.size() - without_byte_order_mark(line).size();
    line.remove_prefix(mark_);
  }
  blank_ = blank_ && line.find_first_not_of(" \t\r\n") == std::string_view::npos;
  return true;
}

void DocumentReader::check_text(std::string_view text, std::uint64_t at) const {
  std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    reject("is binary (byte " + std::to_string(at + zero) + " is 0), expected plain UTF-8 text");
  std::size_t valid = utf8_valid_prefix(text);
  if (valid < text.size())
    reject("is not UTF-8 at byte " + std::to_string(at + valid) +
           "; convert it first, as with `iconv -f LATIN1 -t UTF-8`");
}

bool DocumentReader::next_of_text(std::string& document) {
  std::uint64_t begin = bytes_;
  auto check_length = [&](std::size_t max_bytes) {
    if (document.size() > max_bytes)
      reject("the document that begins at byte " + std::to_string(begin) + " is longer than " +
             std::to_string(rules_.max_bytes) + " bytes: put lines " + kEndOfText +
             " between documents, or raise --longest-document");
  };
  bool ended = false;
  for (std::string_view line; !ended && next_line(line);) {
    ended = without_line_end(line) == kEndOfText;
    if (!ended) document += line;
    check_length(rules_.max_bytes + 2);  // the last line end does not count
  }
  check_text(document, begin == 0 ? mark_ : begin);
  while (document.ends_with('\n') || document.ends_with('\r')) document.pop_back();
  check_length(rules_.max_bytes);
  return ended || !document.empty();
}

template <class Take>
bool DocumentReader::next_object(Take&& take) {
  for (std::string_view line; next_line(line);) {
    std::string place = "line " + std::to_string(lines_) + " ";
    if (line.size() > rules_.max_bytes + 1)
      reject(place + "is longer than " + std::to_string(rules_.max_bytes) +
             " bytes: a line is one JSON object; --longest-document raises this");
    if (without_line_end(line).find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      take(parse_bounded_json(line));
      return true;
    } catch (const JsonFailure& failure) { reject(place + "is not a document: " + failure.what()); }
  }
  return false;
}

bool DocumentReader::next(std::string& document) {
  document.clear();
  if (!jsonl_) return next_of_text(document);
  return next_object([&](nlohmann::json object) {
    auto field = object.is_object() ? object.find(rules_.field) : object.end();
    if (!object.is_object() || field == object.end() || !field->is_string())
      throw JsonFailure("expected an object with a text `" + rules_.field + "` (--field names another)");
    document = std::move(field->get_ref<std::string&>());
  });
}

bool DocumentReader::next(std::string& document, std::vector<ChatTurn>& turns) {
  return next_object([&](const nlohmann::json& object) { turns = read_conversation(object, document); });
}

bool is_jsonl(const std::string& path) { return ends_with_one_of(path, {".jsonl", ".ndjson"}); }

bool is_text(const std::string& path) { return is_jsonl(path) || ends_with_one_of(path, {".txt", ".text", ".md"}); }

DocumentKey key_of(std::string_view document) {
  std::string hex = sha256_hex(document);
  return {std::stoull(hex.substr(0, 16), nullptr, 16), std::stoull(hex.substr(16, 16), nullptr, 16)};
}

bool DocumentKey::is_validation(double fraction) const { return static_cast<double>(high >> 16) < fraction * 0x1p48; }

}  // namespace sink
