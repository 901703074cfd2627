// The documents of a text file, one at a time: cut at lines <|endoftext|>, or the text or conversation of each line of
// JSONL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/sha256.h"
#include "engine/data/chat/conversation.h"
#include "tools/prepare/text_input.h"

namespace sink {

struct DocumentRules {
  std::string field = "text";                    // of a line of JSONL
  std::size_t longest = std::size_t{256} << 20;  // bytes of a document, and of a line of JSONL
};

class DocumentReader {
 public:
  DocumentReader(const std::string& path, bool jsonl, const DocumentRules& rules);

  // The next document, which may be empty: of text without the line ends around the marks, of JSONL as it is. False at
  // the end. Throws Error (Exit::bad_input), with the line or the byte, where the file is damaged, binary or not UTF-8,
  // a line of JSONL is no object with that field, or a document is too long.
  bool next(std::string& document);
  // The conversation in the next line of JSONL (engine/data/chat/conversation.h), `document` being what is said in it.
  bool next(std::string& document, std::vector<ChatTurn>& turns);

  // Of the whole file, unpacked, once next() has said false; whether it was nothing but white space.
  bool blank() const { return blank_; }
  std::uint64_t bytes() const { return bytes_; }
  std::string sha256() { return digest_.hex(); }

 private:
  bool next_of_text(std::string& document);
  // take(object) with that of the next line of JSONL; a JsonFailure gets its place.
  template <class Take>
  bool next_object(Take&& take);
  // The next line with its end, valid until the next call; false at the end of the file.
  bool next_line(std::string_view& line);
  void check_text(std::string_view text, std::uint64_t at) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  bool jsonl_;
  DocumentRules rules_;
  TextInput input_;
  std::string piece_;   // of the file
  std::size_t at_ = 0;  // where in piece_ the next line begins
  std::uint64_t bytes_ = 0, lines_ = 0;
  bool blank_ = true;
  Sha256 digest_;
};

// Whether a file is JSONL by its name: one that ends in .jsonl, .ndjson, or these and .gz or .zst.
bool is_jsonl(const std::string& path);
// Whether a file in a folder is text by its name: .txt, .text, .md, or JSONL, packed or not.
bool is_text(const std::string& path);

// What a document is known by: 128 bits of its SHA-256.
struct DocumentKey {
  std::uint64_t high = 0, low = 0;
  bool operator==(const DocumentKey&) const = default;
  // Whether it is held out: decided by its text alone, so that it stays on its side when other text is added, and
  // copies of it never stand on both sides.
  bool is_validation(double fraction) const;
};
DocumentKey key_of(std::string_view document);

}  // namespace sink
