// Pages are true where that can be checked: counts, files and links that they name exist, and so do the programs and flags of
// their commands. The README stays short.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "model/all_ablations.h"
#include "model/open/family/family.h"
#include "tests/support/subprocess.h"

namespace sink {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = SINK_SOURCE_DIR;

// Every page but the tables that `sweep` writes.
std::vector<fs::path> pages() {
  std::vector<fs::path> found;
  auto add = [&](const fs::path& path) {
    if (path.extension() == ".md" && !read_bytes(path.string()).starts_with("<!-- made by "))
      found.push_back(path);
  };
  for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
  for (std::string folder : {"engine", "autograd", "model", "train", "eval", "tools", "tests", "results"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) add(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex expression(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match)
    found.push_back((*match)[1].str());
  return found;
}

// The lines of the page's blocks of shell.
std::vector<std::string> commands_of(const fs::path& page) {
  std::vector<std::string> lines;
  std::istringstream text(read_bytes(page.string()));
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```"))
      inside = line == "```sh";
    else if (inside)
      lines.push_back(line.substr(0, line.find(" #")));
  }
  return lines;
}

bool in_repository(const std::string& path) {
  static const std::set<std::string> folders{"engine", "autograd", "model", "train", "eval", "tools", "tests"};
  return folders.contains(path.substr(0, path.find('/')));
}

std::string help_of(const std::vector<std::string>& words) {
  TemporaryFolder folder;
  Subprocess program(folder, words);
  CHECK(program.wait() == 0);
  return program.out();
}

}  // namespace

TEST_CASE("readme: at most 120 lines, and every page has a heading and says whom it is for") {
  std::string readme = read_bytes((kRoot / "README.md").string());
  CHECK(std::count(readme.begin(), readme.end(), '\n') <= 120);
  for (const fs::path& page : pages()) {
    std::string text = read_bytes(page.string());
    CHECK_MESSAGE(text.starts_with("# "), page.string());
    if (page != kRoot / "README.md")
      CHECK_MESSAGE(text.substr(0, 600).find("\n\nFor ") != std::string::npos, page.string(), " names no reader");
  }
}

TEST_CASE("readme: it has as many ablations and families of open models as it says") {
  std::set<std::string> types;
  for (const Family& family : families())
    if (!family.type.empty()) types.insert(family.type);
  const std::string readme = read_bytes(kRoot / "README.md");
  CHECK(contains(readme, "There are " + std::to_string(repository_ablations().size()) + " such structs"));
  CHECK(contains(readme, " " + std::to_string(types.size()) + " families"));
}

TEST_CASE("readme: every file, folder and link that a page names exists") {
  std::size_t count = 0;
  for (const fs::path& page : pages()) {
    std::string text = read_bytes(page.string());
    std::vector<fs::path> named;
    for (const std::string& link : matches(text, "\\]\\(([^)#: ]+)[#)]")) named.push_back(page.parent_path() / link);
    for (const std::string& quoted : matches(text, "`([A-Za-z_./]+/[A-Za-z_./]*)`"))
      if (in_repository(quoted)) named.push_back(kRoot / quoted);
    count += named.size();
    for (const fs::path& path : named)
      CHECK_MESSAGE(fs::exists(path), page.filename().string(), " names ", path.string());
  }
  CHECK(count > 200);
}

TEST_CASE("readme: programs of its commands can be built, and know the flags they are given") {
  std::map<std::string, std::string> helps;
  int checked = 0;
  for (const fs::path& page : pages()) {
    if (page.parent_path() == kRoot / "model") continue;  // whose commands build a reader's own programs
    for (const std::string& line : commands_of(page)) {
      std::vector<std::string> words = words_of(line);
      for (const std::string& path : matches(line, "(?:^|\\s)(tools/[a-z0-9_/.]+)"))
        CHECK_MESSAGE(fs::exists(kRoot / path), page.filename().string(), ": ", line);
      if (words.empty() || !words[0].starts_with("build/release/")) continue;
      std::string program = words[0].substr(std::string("build/release/").size());
      std::vector<std::string> asked{program};
      if (program.starts_with("eval_")) asked.push_back(words[1]);
      if (program == "sinklab")
        asked.push_back(words[1].find_first_of("./") == std::string::npos ? words[1] : "attention");
      asked.push_back(program.starts_with("train_") ? "--help-all" : "--help");
      std::string& help = helps[asked[0] + asked[1]];
      if (help.empty()) help = help_of(asked);
      for (const std::string& flag : matches(line, "\\s(--[a-z-]+)")) {
        CHECK_MESSAGE(help.find(flag) != std::string::npos, page.filename().string(), ": ", line, " has ", flag);
        ++checked;
      }
    }
  }
  CHECK(checked >= 40);
}

}  // namespace sink
