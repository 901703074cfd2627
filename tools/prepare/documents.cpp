#include "tools/prepare/documents.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/data/tokenizer/bpe_model.h"
#include "engine/io/file.h"
#include "engine/io/sha256.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::size_t kLeastText = 1000;  // bytes

void check_text(const TextFile& file) {
  auto reject = [&](const std::string& why) { fail("text", file.path + ": " + why, Exit::bad_input); };
  if (file.bytes.find_first_not_of(" \t\r\n") == std::string::npos) reject("is empty, expected text");
  std::size_t zero = file.bytes.find('\0');
  if (zero != std::string::npos)
    reject("is binary (byte " + std::to_string(zero) + " is 0), expected plain UTF-8 text");
  std::size_t valid = utf8_valid_prefix(file.bytes);
  if (valid < file.bytes.size()) {
    reject("is not UTF-8 at byte " + std::to_string(valid) + "; convert it first, as with `iconv -f LATIN1 -t UTF-8`");
  }
}

}  // namespace

std::vector<TextFile> read_text_files(const std::vector<std::string>& paths) {
  std::vector<TextFile> files;
  std::size_t total = 0;
  for (const std::string& path : paths) {
    files.push_back({path, read_file("text", path)});
    check_text(files.back());
    total += files.back().bytes.size();
  }
  SINK_CHECK(total >= kLeastText, "text",
             "the text is too short: " + std::to_string(total) + " bytes in all, at least " +
                 std::to_string(kLeastText) + " are needed",
             Exit::bad_input);
  return files;
}

std::vector<std::string_view> documents_of(const std::vector<TextFile>& files) {
  std::vector<std::string_view> documents;
  for (const TextFile& file : files) {
    std::string_view text = file.bytes;
    std::size_t begin = 0;  // of the document
    for (std::size_t line = 0; line <= text.size();) {
      std::size_t end = std::min(text.find('\n', line), text.size());
      std::string_view content = text.substr(line, end - line);
      if (content.ends_with('\r')) content.remove_suffix(1);
      bool mark = content == kEndOfText;
      if (mark || end == text.size()) {
        std::string_view document = text.substr(begin, (mark ? line : end) - begin);
        while (document.ends_with('\n') || document.ends_with('\r')) document.remove_suffix(1);
        if (!document.empty()) documents.push_back(document);
        begin = end + 1;
      }
      line = end + 1;
    }
  }
  return documents;
}

bool is_validation(std::string_view document, double fraction) {
  auto first_48_bits = std::stoull(sha256_hex(document).substr(0, 12), nullptr, 16);
  return static_cast<double>(first_48_bits) < fraction * 0x1p48;
}

}  // namespace sink
