// The tables of ARCHITECTURES.md, CONFIG_KEYS.md and TENSOR_NAMES.md, which the program carries as text
// (CMakeLists.txt): pages for people, and what the readers of model/open/ know of the files of other programs.
#pragma once

#include <string>
#include <vector>

namespace sink {

// A section `## <title>` of a page: its text, and the cells of its table without the header.
struct NameTable {
  std::string title, text;
  std::vector<std::vector<std::string>> rows;
};
std::vector<NameTable> name_tables(const std::string& page);

// What is in backticks in a cell, in order.
std::vector<std::string> code_in(const std::string& cell);

// The text of one of these pages or of transformer_lens_adapter.py (CMakeLists.txt).
std::string carried_text(const std::string& file);

}  // namespace sink
