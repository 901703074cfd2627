// The run folder: nothing is overwritten by accident, and files appear whole.
#include "train/run_folder.h"

#include <doctest/doctest.h>

#include "engine/file.h"
#include "tests/support/files.h"

using namespace sink;
namespace fs = std::filesystem;

namespace {

RunConfig run_in(const std::string& folder, const std::string& resume = "never", bool force = false) {
  RunConfig config;
  config.run = folder;
  config.resume = resume;
  config.force = force;
  return config;
}

// A folder as a run leaves it, with a file of the user's beside.
void leave_run(const std::string& folder) {
  fs::create_directories(folder);
  for (const char* name : {"config.toml", "metrics.jsonl", "checkpoint.h5", "notes.txt"}) {
    write_bytes(folder + "/" + name, name);
  }
}

}  // namespace

TEST_CASE("run folder: a new one is made with those above it") {
  TemporaryFolder folder;
  RunFolder run = open_run_folder(run_in(folder / "runs/first/"));
  CHECK(fs::is_directory(folder / "runs/first"));
  CHECK(run.checkpoint() == folder / "runs/first/checkpoint.h5");
  CHECK(run.resume_from.empty());
  CHECK_NOTHROW(open_run_folder(run_in(folder / "runs/first")));  // still empty
  CHECK_NOTHROW(open_run_folder(run_in(folder / "runs/first", "auto")));
}

TEST_CASE("run folder: an older run is neither overwritten nor emptied unless asked") {
  TemporaryFolder folder;
  std::string message, run = folder / "run";
  leave_run(run);
  CHECK(exit_of([&] { open_run_folder(run_in(run)); }, &message) == Exit::usage);
  CHECK(message == run + " already holds files; --resume auto goes on with that run, --force replaces it");
  CHECK(fs::exists(run + "/checkpoint.h5"));

  CHECK(open_run_folder(run_in(run, "never", true)).resume_from.empty());
  CHECK_FALSE(fs::exists(run + "/checkpoint.h5"));
  CHECK_FALSE(fs::exists(run + "/metrics.jsonl"));
  CHECK(read_bytes(run + "/notes.txt") == "notes.txt");  // not ours to remove
}

TEST_CASE("run folder: what a run killed at its first file leaves does not stand in the way of the next") {
  TemporaryFolder folder;
  fs::create_directories(folder / "run");
  write_bytes(folder / "run/.config.toml.tmp-999999", "layers");
  CHECK_NOTHROW(open_run_folder(run_in(folder / "run", "auto")));
  CHECK_NOTHROW(open_run_folder(run_in(folder / "run")));
  write_bytes(folder / "run/notes.txt", "mine");
  CHECK_THROWS_AS(open_run_folder(run_in(folder / "run", "auto")), Error);
}

TEST_CASE("run folder: --force leaves folders alone that no run made") {
  TemporaryFolder folder;
  write_bytes(folder / "thesis.tex", "years of work");
  CHECK(exit_of([&] { open_run_folder(run_in(folder.path, "never", true)); }) == Exit::usage);
  CHECK(exit_of([&] { open_run_folder(run_in(folder.path, "auto")); }) == Exit::usage);
  CHECK(exit_of([&] { open_run_folder(run_in(folder / "thesis.tex")); }) == Exit::usage);
  CHECK(read_bytes(folder / "thesis.tex") == "years of work");
}

TEST_CASE("run folder: resume finds the checkpoint") {
  TemporaryFolder folder;
  std::string run = folder / "run";
  leave_run(run);
  CHECK(open_run_folder(run_in(run, "auto")).resume_from == run + "/checkpoint.h5");
  CHECK(open_run_folder(run_in(run, run + "/checkpoint.h5")).resume_from == run + "/checkpoint.h5");
  CHECK(open_run_folder(run_in(folder / "other", run + "/checkpoint.h5")).resume_from == run + "/checkpoint.h5");
  CHECK(exit_of([&] { open_run_folder(run_in(run, folder / "absent.h5")); }) == Exit::bad_input);
  fs::remove(run + "/checkpoint.h5");  // killed before the first checkpoint
  CHECK(open_run_folder(run_in(run, "auto")).resume_from.empty());
  leave_run(folder / "third");
  CHECK(exit_of([&] { open_run_folder(run_in(run, folder / "third/checkpoint.h5")); }) == Exit::usage);
}

TEST_CASE("run folder: one that cannot be made is Exit::io with the reason") {
  std::string message;
  CHECK(exit_of([] { open_run_folder(run_in("/proc/sinklab/run")); }, &message) == Exit::io);
  CHECK(exit_of([&] { open_run_folder(run_in("/proc/sinklab")); }, &message) == Exit::io);
  CHECK(message.find("cannot make the folder /proc/sinklab: ") == 0);
}

TEST_CASE("atomic file: appears whole, and a failed one leaves the older file and nothing else") {
  TemporaryFolder folder;
  std::string path = folder / "evaluation.json";
  write_file_atomically(path, "first");
  write_file_atomically(path, "second");
  CHECK(read_bytes(path) == "second");

  std::string message, small = "x", large(10000, 'x');
  auto write_both = [&] {
    FileSizeLimit limit(4096);
    write_files_atomically({{path, small}, {folder / "second", large}});
  };
  CHECK(exit_of(write_both, &message) == Exit::io);
  CHECK(message.find("cannot write " + folder / "second" + ": ") == 0);
  CHECK(read_bytes(path) == "second");
  CHECK(entries(folder.path) == 1);

  CHECK(exit_of([] { write_file_atomically("/dev/null/x", "x"); }) == Exit::io);
  CHECK(exit_of([&] { write_file_atomically(folder.path, "x"); }) == Exit::io);  // a folder is in the way
}
