// Temporaries of files that are replaced: links planted under a name that could be guessed, and what killed programs
// leave.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "engine/io/file.h"
#include "tests/support/files.h"

namespace fs = std::filesystem;
using namespace sink;

TEST_CASE("temporary name: no two are equal, and each is next to its file") {
  std::set<std::string> names;
  for (int n = 0; n < 1000; ++n) names.insert(temporary_name("folder/x.json"));
  CHECK(names.size() == 1000);
  CHECK(names.begin()->starts_with("folder/.x.json.tmp-" + std::to_string(::getpid()) + "-"));
  CHECK(temporary_name("x").starts_with("./.x.tmp-"));
}

TEST_CASE("output file: a link under the name of process and file is not written through") {
  TemporaryFolder folder;
  write_bytes(folder / "victim", "mine");
  fs::create_symlink(folder / "victim", folder / (".out.json.tmp-" + std::to_string(::getpid())));
  write_file_atomically(folder / "out.json", "{}");
  CHECK(read_bytes(folder / "victim") == "mine");
  CHECK(read_bytes(folder / "out.json") == "{}");
}

TEST_CASE("temporaries of processes that ended go: files, folders and links, not what links lead to") {
  TemporaryFolder folder;
  const std::string dead = "4194304";  // above the largest process id that Linux gives
  write_bytes(folder / "victim", "mine");
  write_bytes(folder / (".out.tmp-" + dead), "half");
  fs::create_directory(folder / (".out.tmp-" + dead + "-0123456789abcdef"));
  write_bytes(folder / (".out.tmp-" + dead + "-0123456789abcdef/config.json"), "half");
  fs::create_symlink(folder / "victim", folder / (".out.tmp-" + dead + "-1"));
  write_bytes(folder / (".out.tmp-" + std::to_string(::getpid()) + "-2"), "in use");
  write_bytes(folder / (".other.tmp-" + dead + "-3"), "another file's");
  remove_orphans(folder / "out");
  CHECK(entries(folder.path) == 3);
  CHECK(read_bytes(folder / "victim") == "mine");
  CHECK(fs::exists(folder / (".out.tmp-" + std::to_string(::getpid()) + "-2")));
}
