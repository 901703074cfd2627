// Reads the documents of a text file one at a time: text split at lines <|endoftext|>, or the text or conversation of
// each line of JSONL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/chat/conversation.h"
#include "engine/io/sha256.h"
#include "tools/prepare/text_input.h"

namespace sink {

struct DocumentRules {
  std::string field = "text";                      // of a line of JSONL
  std::size_t max_bytes = std::size_t{256} << 20;  // of a document, and of a line of JSONL
};

class DocumentReader {
 public:
  DocumentReader(const std::string& path, bool jsonl, const DocumentRules& rules);

  // Reads the next document, which may be empty; text loses its trailing line ends, and a file
  // its byte order mark. Returns false at the end. Throws
  // Error (Exit::bad_input) with the line or the byte if the file is damaged, binary or not UTF-8, a line of JSONL is
  // not an object with that field, or a document is too long.
  bool next(std::string& document);
  // Reads the conversation in the next line of JSONL (engine/data/chat/conversation.h); `document` is its content.
  bool next(std::string& document, std::vector<ChatTurn>& turns);

  // Of the whole decompressed file, after next() returned false. blank(): it has only white space.
  bool blank() const { return blank_; }
  std::uint64_t bytes() const { return bytes_; }
  std::string sha256() { return digest_.hex(); }

 private:
  bool next_of_text(std::string& document);
  // Calls take(object) with the next line of JSONL; adds the line number to a JsonFailure.
  template <class Take>
  bool next_object(Take&& take);
  // The next line with its line end, valid until the next call; false at the end of the file.
  bool next_line(std::string_view& line);
  void check_text(std::string_view text, std::uint64_t at) const;
  [[noreturn]] void reject(const std::string& why) const;

  std::string path_;
  bool jsonl_;
  DocumentRules rules_;
  TextInput input_;
  std::string buffer_;  // part of the file
  std::size_t at_ = 0;  // start of the next line in buffer_
  std::uint64_t bytes_ = 0, lines_ = 0;
  std::size_t mark_ = 0;  // bytes of a byte order mark at the beginning of the file
  bool blank_ = true;
  Sha256 digest_;
};

// Whether a name ends in .jsonl or .ndjson, also compressed, as .gz or .zst.
bool is_jsonl(const std::string& path);
// Whether a name ends in .txt, .text or .md, or is JSONL, also compressed.
bool is_text(const std::string& path);

// Identifies a document by 128 bits of its SHA-256.
struct DocumentKey {
  std::uint64_t high = 0, low = 0;
  bool operator==(const DocumentKey&) const = default;
  // Whether the document is held out. Depends only on its text, so that adding text moves no document between the
  // splits, and copies are never in both.
  bool is_validation(double fraction) const;
};
DocumentKey key_of(std::string_view document);

}  // namespace sink
