// Temporaries of files that are replaced: links planted under a name that could be guessed, and what killed programs
// leave.
#include "engine/io/temporary_name.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "engine/io/file.h"
#include "tests/support/files.h"
#include "tests/support/orphan_name.h"

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
  const std::string out = folder / "out";
  write_bytes(folder / "victim", "mine");
  write_bytes(orphan_name(out), "half");
  const std::string half_folder = orphan_name(out), in_use = temporary_name(out);
  fs::create_directory(half_folder);
  write_bytes(half_folder + "/config.json", "half");
  fs::create_symlink(folder / "victim", orphan_name(out));
  write_bytes(in_use, "in use");
  write_bytes(orphan_name(folder / "other"), "another file's");
  remove_orphans(out);
  CHECK(entries(folder.path) == 3);
  CHECK(read_bytes(folder / "victim") == "mine");
  CHECK(fs::exists(in_use));
}

TEST_CASE("temporaries of another machine go after a day without a write: its processes cannot be seen from here") {
  TemporaryFolder folder;
  for (const char* name : {".out.tmp-4194304-00000000-0123456789abcdef", ".out.tmp-4194304-0123456789abcdef"}) {
    const std::string temporary = folder / name;
    write_bytes(temporary, "half");
    remove_orphans(folder / "out");
    CHECK_MESSAGE(fs::exists(temporary), temporary);
    fs::last_write_time(temporary, fs::file_time_type::clock::now() - std::chrono::hours(25));
    remove_orphans(folder / "out");
    CHECK_MESSAGE(!fs::exists(temporary), temporary);
  }
}
