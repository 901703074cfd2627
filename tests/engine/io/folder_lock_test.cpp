// The lock of a folder ends with its holder, however that ends, and not with a child that outlives it.
#include "engine/io/folder_lock.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/files.h"

using namespace sink;

namespace {

int flock_calls = 0;
std::string removed_before_flock;  // once
bool replaced = false;             // the next holder has made a file of its own then

}  // namespace

// A holder that ends removes its file; here it does so after the next one has opened the file.
extern "C" int flock(int descriptor, int operation) noexcept {
  ++flock_calls;
  if (!removed_before_flock.empty()) ::unlink(removed_before_flock.c_str());
  if (!removed_before_flock.empty() && replaced) std::ofstream(removed_before_flock) << "another";
  removed_before_flock.clear();
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

TEST_CASE("folder lock: a holder that ends while another waits for it leaves the lock to that one") {
  for (const bool by_another : {false, true}) {
    CAPTURE(by_another);
    TemporaryFolder folder;
    replaced = by_another;
    removed_before_flock = folder / ".lock";
    flock_calls = 0;
    const FolderLock first(folder.path);
    CHECK(flock_calls == 2);
    CHECK(exit_of([&] { FolderLock second(folder.path); }) == Exit::usage);
  }
}

TEST_CASE("folder lock: a killed holder's child does not keep it") {
  TemporaryFolder folder;
  int from_child[2];
  REQUIRE(::pipe(from_child) == 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const FolderLock lock(folder.path);
    const pid_t child = ::fork();
    if (child == 0) {
      const pid_t own = ::getpid();
      if (::write(from_child[1], &own, sizeof own) != sizeof own) ::_exit(1);
      ::pause();  // as one that reads a file in another process does, until it is done
      ::_exit(0);
    }
    ::pause();
    ::_exit(0);
  }
  pid_t child = 0;
  REQUIRE(::read(from_child[0], &child, sizeof child) == sizeof child);
  CHECK(exit_of([&] { FolderLock second(folder.path); }) == Exit::usage);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  CHECK(::kill(child, 0) == 0);  // it lives on
  CHECK(exit_of([&] { FolderLock second(folder.path); }) == Exit::ok);
  ::kill(child, SIGKILL);
  ::close(from_child[0]);
  ::close(from_child[1]);
}
