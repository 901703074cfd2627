// What is stored in the place of a file whose download failed.
#pragma once

#include <string>
#include <string_view>

namespace sink {

// "is a pointer of Git LFS, ..." or "is a page of HTML or XML, ..." with advice, by the first bytes of a file; "" for
// any other file.
std::string failed_download(std::string_view bytes);

}  // namespace sink
