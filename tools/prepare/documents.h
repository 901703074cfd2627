// Text files as documents: read, checked, cut at the lines <|endoftext|>.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sink {

struct TextFile {
  std::string path;
  std::string bytes;
};

// Throws Error (Exit::bad_input) where a file is missing, empty, binary or not UTF-8 (with the byte), or where all of
// them together are too short to learn from.
std::vector<TextFile> read_text_files(const std::vector<std::string>& paths);

// The documents of all files in order, without the line ends around the marks; empty ones are left out. A file without
// marks is one document. The views point into `files`.
std::vector<std::string_view> documents_of(const std::vector<TextFile>& files);

// Whether a document is held out: decided by its text alone, so that it stays on its side when other text is added, and
// copies of it never stand on both sides.
bool is_validation(std::string_view document, double fraction);

}  // namespace sink
