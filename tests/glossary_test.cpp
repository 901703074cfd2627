// CODE_MAP.md lists every letter of a shape in a header's names. GLOSSARY.md lists every kind of policy, is short, sorted
// and without repetition, and has no word that the sources do not use.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = SINK_SOURCE_DIR;

std::string text_of(const fs::path& path) { return sink::read_bytes(path); }

std::vector<fs::path> sources_of(const std::vector<std::string>& folders, const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.is_regular_file() && extensions.contains(entry.path().extension().string()))
        files.push_back(entry.path());
  return files;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The words in lower case with one blank before, between and after them. Every character but letters, digits and the
// star counts as a blank; CamelCase words are split.
std::string words_of(const std::string& text) {
  std::string words = " ";
  for (std::size_t n = 0; n < text.size(); ++n) {
    unsigned char c = static_cast<unsigned char>(text[n]);
    if (std::isupper(c) && n > 0 && std::islower(static_cast<unsigned char>(text[n - 1]))) words += ' ';
    if (std::isalnum(c))
      words += static_cast<char>(std::tolower(c));
    else if (words.back() != ' ')
      words += ' ';
  }
  return words + ' ';
}

// The cells of the first column of the page's table with this head.
std::vector<std::string> first_column(const std::string& name, const std::string& head) {
  std::ifstream page(kRoot / name);
  std::vector<std::string> cells;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| " + head + " |"))
      inside = true;
    else if (line.empty())
      inside = false;
    else if (inside && !line.starts_with("|--"))
      cells.push_back(line.substr(2, line.find(" |", 2) - 2));
  }
  return cells;
}

std::vector<std::string> parts_of(const std::string& cell) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < cell.size();) {
    std::size_t end = std::min(cell.find(", ", at), cell.size());
    parts.push_back(cell.substr(at, end - at));
    at = end + 2;
  }
  return parts;
}

std::set<std::string> all_parts(const std::string& name, const std::string& head) {
  std::set<std::string> all;
  for (const std::string& cell : first_column(name, head))
    for (const std::string& part : parts_of(cell)) all.insert(part);
  return all;
}

const std::vector<std::string> kFolders{"engine", "autograd", "model", "eval", "train", "tools", "tests"};

// The letters of names such as q_BHTD in headers, with one of the names.
std::map<char, std::string> letters_of_shapes() {
  const std::regex shape("\\b[a-z][A-Za-z0-9]*(?:_[a-z0-9]+)*_([A-Z]+)\\b");
  std::map<char, std::string> letters;
  for (const fs::path& path : sources_of({"engine", "autograd", "model", "eval", "train", "tools"}, {".h", ".cuh"})) {
    const std::string text = text_of(path);
    for (std::sregex_iterator match(text.begin(), text.end(), shape), end; match != end; ++match)
      for (char letter : (*match)[1].str())
        letters.emplace(letter, (*match)[0].str() + " in " + fs::relative(path, kRoot).string());
  }
  return letters;
}

}  // namespace

TEST_CASE("glossary: every letter of a shape has a line, and every capital is used in one") {
  const std::map<char, std::string> letters = letters_of_shapes();
  const std::set<std::string> listed = all_parts("CODE_MAP.md", "letter");
  CHECK(letters.size() >= 12);
  for (const auto& [letter, where] : letters)
    CHECK_MESSAGE(listed.contains(std::string(1, letter)), std::string(1, letter), " of ", where);
  for (const std::string& letter : listed)
    if (letter.size() == 1 && std::isupper(static_cast<unsigned char>(letter[0])) && letter != "S")
      CHECK_MESSAGE(letters.contains(letter[0]), letter, " is in no name of a header");
}

TEST_CASE("glossary: every kind of policy is in it") {
  const std::string page = text_of(kRoot / "GLOSSARY.md");
  std::size_t kinds = 0;
  const std::string spec = text_of(kRoot / "model/spec.h");
  static const std::regex kind("  typename S::([A-Za-z]+); +//");
  for (std::sregex_iterator match(spec.begin(), spec.end(), kind), end; match != end; ++match, ++kinds)
    CHECK_MESSAGE(page.find((*match)[1].str()) != std::string::npos, (*match)[1].str());
  CHECK(kinds >= 12);
}

TEST_CASE("glossary: at most 40 words, sorted, each once and used by the sources") {
  std::string sources;
  for (const fs::path& path :
       sources_of(kFolders, {".h", ".cuh", ".cpp", ".cu", ".def", ".py", ".sh", ".toml", ".js", ".html"}))
    if (path.filename() != "glossary_test.cpp") sources += words_of(text_of(path));
  const std::vector<std::string> cells = first_column("GLOSSARY.md", "word");
  CHECK(cells.size() >= 25);
  CHECK(cells.size() <= 40);
  for (std::size_t n = 0; n < cells.size(); ++n) {
    if (n > 0) CHECK_MESSAGE(lower(cells[n - 1]) < lower(cells[n]), cells[n]);
    for (const std::string& part : parts_of(cells[n])) {
      const std::string phrase = words_of(part);
      const std::string plural = phrase.substr(0, phrase.size() - 1) + "s ";
      CHECK_MESSAGE((sources.find(phrase) != std::string::npos || sources.find(plural) != std::string::npos),
                    "no source says ", part);
    }
  }
}
