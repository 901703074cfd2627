// The pages of the tour hang together: chapters in order, each with its exercise, its answer and its test; every link
// leads somewhere, every symbol is where its link says, and every name in the text is one of the sources. (Code blocks:
// layout_test.cpp; printed output: tour_output.py.)
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/support/files.h"

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = SINK_SOURCE_DIR, kTour = kRoot / "tools/tour";

std::string text_of(const fs::path& path) {
  REQUIRE_MESSAGE(fs::exists(path), path);
  return sink::read_bytes(path);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Link {
  std::string text, to;
};
std::vector<Link> links_of(const std::string& page) {
  static const std::regex link("\\[([^\\]]*)\\]\\(([^)#\\s]+)\\)");
  std::vector<Link> found;
  for (std::sregex_iterator match(page.begin(), page.end(), link), end; match != end; ++match)
    found.push_back({(*match)[1], (*match)[2]});
  return found;
}

using Words = std::unordered_set<std::string>;
// Identifiers, one by one.
void add_words(const std::string& text, Words& words) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const char *begin = text.c_str(), *const end = begin + text.size(); begin < end; ++begin) {
    const char* after = begin;
    while (is_part(*after)) ++after;
    if (after != begin) words.emplace(begin, after);
    begin = after;
  }
}
Words words_of(const fs::path& path) {
  Words words;
  add_words(text_of(path), words);
  return words;
}

std::string number_of(const fs::path& chapter) {
  const std::string name = chapter.filename().string();
  return name.substr(0, name.find('_'));
}

// In order, from chapter 0.
std::vector<fs::path> chapters() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kTour))
    if (entry.path().extension() == ".md" && entry.path().filename() != "README.md") found.push_back(entry.path());
  std::ranges::sort(found, {}, [](const fs::path& chapter) { return std::stoi(number_of(chapter)); });
  return found;
}

std::string title_of(const fs::path& chapter) {
  const std::string text = text_of(chapter);
  return text.substr(2, text.find('\n') - 2);
}

std::string link_to(const fs::path& chapter) {
  return "[" + title_of(chapter) + "](" + chapter.filename().string() + ")";
}

}  // namespace

TEST_CASE("tour: chapters come in order, from the README and from one to the next") {
  CHECK(has(text_of(kRoot / "README.md"), "](tools/tour/README.md)"));
  const std::vector<fs::path> all = chapters();
  CHECK(all.size() == 11);
  const std::string contents = text_of(kTour / "README.md");
  std::size_t at = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    CAPTURE(all[n]);
    const std::string text = text_of(all[n]);
    CHECK(number_of(all[n]) == std::to_string(n));
    CHECK(text.starts_with("# " + number_of(all[n]) + " "));
    CHECK(std::count(text.begin(), text.end(), '\n') <= 150);
    std::size_t listed = contents.find("| " + link_to(all[n]) + " | ");
    CHECK(listed != std::string::npos);
    CHECK(listed >= at);
    at = listed;
    CHECK(has(text, "\n[Contents](README.md)"));
    if (n > 0) CHECK(has(text, "previous: " + link_to(all[n - 1])));
    if (n + 1 < all.size()) CHECK(has(text, "next: " + link_to(all[n + 1]) + "\n"));
  }
}

TEST_CASE("tour: the first hour of chapter 0 has at most 1,200 lines") {
  const std::string page = text_of(kRoot / "tools/one_file/README.md");
  const std::size_t hour = page.find("\n## Your first hour\n");
  REQUIRE(hour != std::string::npos);
  const std::string sink = text_of(kRoot / "tools/one_file/sink.cpp");
  std::ptrdiff_t lines = std::count(sink.begin(), sink.end(), '\n');
  CHECK(lines == 400);
  for (const Link& link : links_of(page.substr(hour))) {
    if (link.to.ends_with(".md")) continue;
    const std::string text = text_of(kRoot / "tools/one_file" / link.to);
    lines += std::count(text.begin(), text.end(), '\n');
  }
  CHECK(lines > 800);
  CHECK(lines <= 1200);
}

TEST_CASE("tour: each chapter ends with an exercise that has a header, an answer and a test") {
  const std::string tests = text_of(kRoot / "tests/tour/exercises.cpp");
  std::size_t headers = 0, cases = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/tour"))
    headers += entry.path().filename().string().starts_with("exercise_");
  for (std::size_t at = 0; (at = tests.find("\nTEST_CASE(\"", at)) != std::string::npos; ++at) ++cases;
  CHECK(headers == chapters().size());
  CHECK(cases == chapters().size());
  for (const fs::path& chapter : chapters()) {
    CAPTURE(chapter);
    const std::string stem = chapter.stem().string(), text = text_of(chapter);
    std::size_t last = text.rfind("\n## ");
    REQUIRE(last != std::string::npos);
    const std::string exercise = text.substr(last);
    CHECK(exercise.starts_with("\n## Exercise\n"));
    CHECK(has(exercise, "(../../tests/tour/exercise_" + stem + ".h)"));
    CHECK(has(exercise, "[Answer](../../tests/tour/answers/answer_" + stem + ".h)"));
    CHECK(has(exercise, "build/release/tests/tour_exercises --no-skip -tc=\"" + number_of(chapter) + " *\"\n"));
    for (std::string header : {"tests/tour/exercise_" + stem + ".h", "tests/tour/answers/answer_" + stem + ".h"}) {
      CHECK_MESSAGE(fs::exists(kRoot / header), header);
      CHECK_MESSAGE(has(tests, "#include \"" + header + "\"\n"), header);
    }
    CHECK(has(tests, "\nTEST_CASE(\"" + number_of(chapter) + " "));
    CHECK(has(text_of(kRoot / "tests/tour" / ("exercise_" + stem + ".h")), "ours"));  // says where to write
  }
}

TEST_CASE("tour: links lead to files, and symbols are in the files that they are linked to") {
  int symbols = 0;
  for (const auto& entry : fs::directory_iterator(kTour)) {
    if (entry.path().extension() != ".md") continue;
    for (const Link& link : links_of(text_of(entry.path()))) {
      const fs::path target = (kTour / link.to).lexically_normal();
      CHECK_MESSAGE(fs::exists(target), entry.path().filename().string(), " leads to ", link.to);
      if (!link.text.starts_with("`") || link.text == "`" + target.filename().string() + "`" || !fs::exists(target))
        continue;
      Words parts;
      add_words(link.text, parts);
      const Words words = words_of(target);
      for (const std::string& part : parts)
        CHECK_MESSAGE(words.contains(part), entry.path().filename().string(), ": no ", part, " in ", link.to);
      ++symbols;
    }
  }
  CHECK(symbols >= 40);
}

TEST_CASE("tour: names in the text are names of the sources") {
  Words known;
  for (std::string folder : {"engine", "autograd", "model", "eval", "train", "tools", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.is_regular_file() && entry.path().extension() != ".md") add_words(text_of(entry.path()), known);
  const std::regex name("`([A-Za-z_][A-Za-z0-9_]{2,}(::[A-Za-z0-9_]+)*)`");
  int names = 0;
  for (const fs::path& chapter : chapters()) {
    const std::string text = text_of(chapter);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
      Words parts;
      add_words((*match)[1], parts);
      for (const std::string& part : parts)
        CHECK_MESSAGE(known.contains(part), chapter.filename().string(), " names ", part, ", which no source has");
      ++names;
    }
  }
  CHECK(names >= 60);
}

TEST_CASE("tour: every output that it shows is one that a test makes") {
  for (const fs::path& chapter : chapters()) {
    const std::string text = text_of(chapter);
    for (std::size_t at = 0; (at = text.find("```console\n", at)) != std::string::npos; ++at) {
      std::size_t begin = at + std::string("```console\n").size();
      const std::string command = text.substr(begin, text.find('\n', begin) - begin);
      CHECK_MESSAGE(command.starts_with("$ "), command);
      CHECK_MESSAGE((has(command, "build/release/") != has(command, "build/debug/")), command);
    }
  }
}
