#include "engine/io/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// "process 1234 (train_baseline) on host.example since 2026-11-21 10:00:00 UTC"; since now.
std::string this_process_in_words() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char since[32];
  std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S UTC", &utc);
  return "process " + std::to_string(::getpid()) + " (" + ::program_invocation_short_name + ") on " + host_name() +
         " since " + since;
}

// The description in the lock file: its first line, without control characters.
std::string holder_in(int descriptor) {
  std::array<char, 512> text{};
  ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  std::string holder(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  holder.resize(std::min(holder.find('\n'), holder.size()));
  for (char& c : holder)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return holder;
}

// Forked children inherit flock(2). They close their copy at once, so that the lock ends with its holder and not with a
// child that lives longer.
constexpr std::size_t kMostLocks = 64;
std::array<std::atomic<int>, kMostLocks> held;  // descriptor + 1; 0 is free

void close_in_child() {
  for (std::atomic<int>& one : held)
    if (int descriptor = one.exchange(0)) ::close(descriptor - 1);
}

void close_in_children(int descriptor) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, close_in_child);
  (void)registered;
  for (std::atomic<int>& one : held) {
    int free = 0;
    if (one.compare_exchange_strong(free, descriptor + 1)) return;
  }
}

void release(int descriptor) {
  for (std::atomic<int>& one : held) {
    int own = descriptor + 1;
    if (one.compare_exchange_strong(own, 0)) return;
  }
}

// A holder removes its file when it ends; a lock on a removed file protects nothing.
bool still_there(int descriptor, const std::string& path) {
  struct stat opened, named;
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) : path_(folder + "/" + kLockName) {
  for (int attempt = 0;; ++attempt) {
    require_regular_file(path_);
    descriptor_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (descriptor_ < 0) fail_io("write into", folder, errno);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      int error = errno;
      std::string holder = holder_in(descriptor_);
      if (error == EWOULDBLOCK)
        throw Error(folder + " is in use by " + (holder.empty() ? "another process" : holder) +
                        "; wait until it is done, or choose another folder",
                    Exit::usage);
      std::fprintf(stderr, "note: %s: this file system keeps no locks; see that no other program writes there\n",
                   printable(folder).c_str());
    }
    if (still_there(descriptor_, path_) || attempt == 100) break;  // some file systems change inodes
    descriptor_.close();
  }
  close_in_children(descriptor_);
  std::string before = holder_in(descriptor_), now = this_process_in_words() + "\n";
  if (!before.empty() && before.find(" on " + host_name() + " since ") == std::string::npos)
    std::fprintf(stderr, "note: %s was in use by %s, which did not let go and holds no lock any more; taken over\n",
                 printable(folder).c_str(), printable(before).c_str());
  // Only informational.
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, now.data(), now.size(), 0);
}

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  release(descriptor_);
  ::unlink(path_.c_str());  // before the lock is released: afterwards the file may be another's
}

}  // namespace sink
