// The run folder: nothing is overwritten by accident, and files appear whole.
#include "train/run_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/io/file.h"
#include "tests/support/files.h"
#include "tests/support/in_child.h"

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

// A folder as a run leaves it, and a file of the user in it.
void leave_run(const std::string& folder) {
  fs::create_directories(folder);
  for (const char* name : {"config.toml", "metrics.jsonl", "checkpoint.h5", "notes.txt", "view.html",
                           "events.out.tfevents.1.2.sinklab", "metrics.damaged-1.jsonl"}) {
    write_bytes(folder + "/" + name, name);
  }
}

}  // namespace

TEST_CASE("run folder: a new one is made with those above it") {
  TemporaryFolder folder;
  {
    RunFolder run = open_run_folder(run_in(folder / "runs/first/"));
    CHECK(fs::is_directory(folder / "runs/first"));
    CHECK(run.checkpoint() == folder / "runs/first/checkpoint.h5");
    CHECK(run.resume_from.empty());
  }
  CHECK_NOTHROW(open_run_folder(run_in(folder / "runs/first")));  // still empty
  CHECK_NOTHROW(open_run_folder(run_in(folder / "runs/first", "auto")));
}

TEST_CASE("run folder: an older run is neither overwritten nor emptied unless asked") {
  TemporaryFolder folder;
  std::string message, run = folder / "run";
  leave_run(run);
  CHECK(exit_of([&] { open_run_folder(run_in(run)); }, &message) == Exit::usage);
  CHECK(message == run + " already holds files; --resume auto continues that run, --force replaces it");
  CHECK(fs::exists(run + "/checkpoint.h5"));

  RunFolder forced = open_run_folder(run_in(run, "never", true));
  CHECK(forced.resume_from.empty());
  CHECK(read_bytes(run + "/checkpoint.h5") == "checkpoint.h5");  // nothing is removed before all is read
  forced.set_aside_older_run();
  CHECK_FALSE(fs::exists(run + "/checkpoint.h5"));
  CHECK_FALSE(fs::exists(run + "/metrics.jsonl"));
  CHECK(read_bytes(run + "/notes.txt") == "notes.txt");  // not ours to move
  for (const char* name : {"config.toml", "metrics.jsonl", "checkpoint.h5", "view.html",
                           "events.out.tfevents.1.2.sinklab", "metrics.damaged-1.jsonl"})
    CHECK(read_bytes(run + "/.replaced/" + name) == name);
  write_bytes(run + "/checkpoint.h5", "new");
  forced.drop_older_run();
  CHECK_FALSE(fs::exists(run + "/.replaced"));
  CHECK(read_bytes(run + "/checkpoint.h5") == "new");
}

TEST_CASE("run folder: a replacement that was killed at any of its moves is finished or undone by the next start") {
  const char* names[] = {"evaluation.json", "metrics.jsonl", "checkpoint.h5", "config.toml"};
  for (const char* how : {"auto", "never", "force"}) {
    CAPTURE(how);
    bool force = std::string(how) == "force";
    auto open = [&](const std::string& run) { return open_run_folder(run_in(run, force ? "never" : how, force)); };
    for (int moved = 0; moved <= 4; ++moved) {
      CAPTURE(moved);
      TemporaryFolder folder;
      std::string run = folder / "run";
      fs::create_directories(run + "/.replaced");
      for (int i = 0; i < 4; ++i) write_bytes(run + (i < moved ? "/.replaced/" : "/") + names[i], names[i]);
      std::string message;
      Exit code = exit_of([&] { open(run); }, &message);
      if (std::string(how) == "never") {
        CHECK(code == Exit::usage);
        CHECK(contains(message, ".replaced") == (moved == 4));
      } else {
        CHECK(code == Exit::ok);
      }
      for (const char* name : names) CHECK(read_bytes(run + (moved == 4 ? "/.replaced/" : "/") + name) == name);
      CHECK(fs::exists(run + "/.replaced") == (moved == 4));
    }
  }
}

TEST_CASE("run folder: a new run without a checkpoint never takes the place of the older one it replaces") {
  TemporaryFolder folder;
  std::string run = folder / "run";
  leave_run(run);
  open_run_folder(run_in(run, "never", true)).set_aside_older_run();
  for (int attempt = 0; attempt < 2; ++attempt) {  // killed, again and again, before its first checkpoint
    write_bytes(run + "/config.toml", "attempt");
    write_bytes(run + "/metrics.jsonl", "attempt");
    RunFolder again = open_run_folder(run_in(run, "never", true));
    CHECK(contains(again.notes.at(0), run + "/.replaced"));
    again.set_aside_older_run();
    CHECK(read_bytes(run + "/.replaced/checkpoint.h5") == "checkpoint.h5");
  }
  const std::string note = open_run_folder(run_in(run, "auto")).notes.at(0);
  CHECK(contains(note, "is kept in " + run + "/.replaced"));
  CHECK_FALSE(contains(note, "--force"));      // which this start does not have
  write_bytes(run + "/checkpoint.h5", "new");  // killed right after its first checkpoint
  CHECK(open_run_folder(run_in(run, "auto")).resume_from == run + "/checkpoint.h5");
  CHECK_FALSE(fs::exists(run + "/.replaced"));
}

TEST_CASE("run folder: one process at a time") {
  TemporaryFolder folder;
  std::string run = folder / "run", message;
  {
    RunFolder first = open_run_folder(run_in(run));
    const std::string program = fs::read_symlink("/proc/self/exe").filename();
    for (const char* how : {"never", "auto"}) {
      CHECK(exit_of([&] { open_run_folder(run_in(run + "/", how)); }, &message) == Exit::usage);
      CHECK(contains(message, run + " is in use by process " + std::to_string(::getpid()) + " (" + program + ") on "));
      CHECK(contains(message, " since 20"));
    }
  }
  CHECK(entries(run) == 0);
  CHECK_NOTHROW(open_run_folder(run_in(run)));
  // What a killed process leaves is a file, no lock. Of one on another host only its own system knows, so it is said.
  std::string host = read_bytes("/proc/sys/kernel/hostname"), said;
  host.pop_back();
  for (const std::string& where : {host, std::string("elsewhere")}) {
    write_bytes(run + "/.lock", "process 1 (train_x) on " + where + " since 2026-01-01 00:00:00 UTC\n");
    CHECK(in_child([&] { return exit_of([&] { open_run_folder(run_in(run)); }) == Exit::ok ? 0 : 1; }, &said) == 0);
    CHECK(contains(said, "was in use by process 1 (train_x) on elsewhere since ") == (where == "elsewhere"));
    CHECK(entries(run) == 0);
  }
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
  write_bytes(run + "/evaluation.json", "{}");  // it had ended
  CHECK(exit_of([&] { open_run_folder(run_in(run, "auto")); }) == Exit::usage);
  CHECK_NOTHROW(open_run_folder(run_in(run, "never", true)));
  leave_run(folder / "third");
  CHECK(exit_of([&] { open_run_folder(run_in(run, folder / "third/checkpoint.h5")); }) == Exit::usage);
}

TEST_CASE("run folder: a pipe or a device in the folder of a run that continues is refused, and not waited for") {
  for (const char* name : {"config.toml", "metrics.jsonl", "checkpoint.h5", "evaluation.json", "evaluation-before.json",
                           "failure.txt", "birth/step-1.h5", ".lock", "events.out.tfevents.1.2.sinklab"}) {
    CAPTURE(name);
    for (const bool device : {false, true}) {
      TemporaryFolder folder;
      const std::string run = folder / "run", special = run + "/" + name;
      leave_run(run);
      fs::create_directory(run + "/birth");
      fs::remove(special);
      if (device)
        fs::create_symlink("/dev/zero", special);
      else
        REQUIRE(::mkfifo(special.c_str(), 0600) == 0);
      std::string message;
      CHECK(exit_of([&] { open_run_folder(run_in(run, "auto")); }, &message) == Exit::bad_input);
      CHECK(message == special + " is not a regular file; expected a file that a program wrote: remove it");
    }
  }
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
