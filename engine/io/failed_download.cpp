#include "engine/io/failed_download.h"

#include <algorithm>

#include "engine/io/utf8.h"

namespace sink {

std::string failed_download(std::string_view bytes) {
  bytes = without_byte_order_mark(bytes);
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  if (bytes.starts_with("version https://git-lfs"))
    return "is a pointer of Git LFS, not the file itself: run `git lfs pull` in its folder";
  std::string begin(bytes.substr(0, 16));
  for (char& c : begin)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* markup : {"<!doctype", "<html", "<head", "<?xml", "<error"})
    if (begin.starts_with(markup))
      return "is a page of HTML or XML, not the file itself: download that again, as with `hf download`";
  return "";
}

}  // namespace sink
