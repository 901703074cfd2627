// The rules of the house that a compiler does not see.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = SINK_SOURCE_DIR;
const std::vector<std::string> kFolders{"engine", "autograd", "model", "train", "eval", "tools", "tests"};

std::vector<fs::path> files_under(const std::string& folder, const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
    if (entry.is_regular_file() && extensions.contains(entry.path().extension().string()))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool any_mentions(const std::string& folder, const std::string& text) {
  auto files = files_under(folder, {".h", ".cpp"});
  return std::any_of(files.begin(), files.end(),
                     [&](const fs::path& path) { return text_of(path).find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("layout: every operation has contract, reference, fast path, backward and test") {
  const std::set<std::string> without_gradient{"adamw", "sum_of_squares"};
  int operations = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "engine/ops")) {
    std::string op = entry.path().filename().string();
    CAPTURE(op);
    ++operations;
    for (std::string file : {op + ".h", op + "_ref.h", op + ".cpp"})
      CHECK_MESSAGE(fs::exists(entry.path() / file), file);
    std::string include = "engine/ops/" + op + "/" + op + ".h";
    if (!without_gradient.contains(op)) CHECK_MESSAGE(any_mentions("autograd/ops", include), "a node in autograd/ops");
    CHECK_MESSAGE((fs::exists(kRoot / ("tests/engine/ops/" + op + "_test.cpp"))), "a test in tests/engine/ops");
  }
  CHECK(operations >= 10);
}

TEST_CASE("layout: every node of autograd/ops is in the gradient test") {
  std::string tests = text_of(kRoot / "tests/autograd/gradients_test.cpp");
  for (const fs::path& path : files_under("autograd/ops", {".h"}))
    CHECK_MESSAGE(tests.find(path.filename().string()) != std::string::npos, path.filename().string());
}

TEST_CASE("layout: base names are unique, so that `break file:line` means one place") {
  std::map<std::string, std::string> seen;
  for (const std::string& folder : kFolders)
    for (const fs::path& path : files_under(folder, {".h", ".cpp"})) {
      std::string name = path.filename().string(), where = fs::relative(path, kRoot).string();
      if (name == "main.cpp") continue;
      CHECK_MESSAGE(!seen.contains(name), where, " and ", seen[name]);
      seen[name] = where;
    }
}

TEST_CASE("layout: dependencies point only leftwards, and slow headers stay out of the engine") {
  const std::map<std::string, std::vector<std::string>> forbidden{
      {"engine",
       {"\"autograd/", "\"model/", "\"eval/", "\"train/", "hdf5.h", "json", "CLI/", "<iostream>", "<random>",
        "<ranges>"}},
      {"autograd", {"\"model/", "\"eval/", "\"train/", "hdf5.h", "json", "CLI/", "<iostream>", "<random>"}},
      {"model", {"\"eval/", "\"train/", "CLI/", "<random>"}}};
  for (const auto& [folder, words] : forbidden)
    for (const fs::path& path : files_under(folder, {".h", ".cpp"}))
      for (const std::string& word : words) {
        bool found = text_of(path).find("#include " + (word[0] == '"' || word[0] == '<' ? word : "<" + word)) !=
                     std::string::npos;
        CHECK_MESSAGE(!found, fs::relative(path, kRoot).string(), " includes ", word);
      }
}

TEST_CASE("layout: a file opens with a sentence on what it owns, and stays short") {
  for (const std::string& folder : kFolders)
    for (const fs::path& path : files_under(folder, {".h"})) {
      std::string text = text_of(path), where = fs::relative(path, kRoot).string();
      CHECK_MESSAGE(text.starts_with("// "), where);
      CHECK_MESSAGE(std::count(text.begin(), text.end(), '\n') <= 400, where);
    }
}
