// For LD_PRELOAD: calls on the files of one folder fail as asked, and those that change the folder are recorded.
//
//   FAULT_FOLDER  the folder, without links in its path; calls on other files are the C library's
//   FAULT_CALL    KIND:N:WHAT: the N-th call of this kind (from 1, counted over all forked processes) fails with the
//                 errno WHAT (ENOSPC, ENOMEM or EIO); WHAT+ fails all calls from there on. `short`: half the bytes are
//                 written; `full`: half, then ENOSPC. KIND is open, write, fsync, truncate, rename, unlink, mkdir,
//                 close or mmap. prctl:N:late: the call that ties a child to its parent waits until the parent is gone.
//                 Before the call, `kill` kills the process, `stop` stops it until SIGCONT, `slow` waits 10 ms. A write
//                 that is `lost`, `torn` (half of it is lost) or `misdirected` (to another place of the file) returns
//                 as if it was done.
//   FAULT_PLANT   a fault of our code on purpose: fsync does nothing, rename copies, unlink keeps temporaries, prctl
//                 ties no child to its parent
//   FAULT_COUNTS  a file of 4096 zeros that gets the number of calls, a native int of each kind
//   FAULT_TRACE   a file that gets a record of each call that changed something: a line, and the bytes of a write.
//                 run_faults.py computes from them what a disk holds after a power loss at any call.
//
// Calls that the C library makes inside itself (fopen, stdout) are not seen. run_faults.py compares the recorded folder
// with the real one, so that a program that writes its files so is detected.
#undef _FORTIFY_SOURCE  // which defines some of these calls in headers
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

namespace {

constexpr const char* kKinds[] = {"open",   "write", "fsync", "truncate", "rename",
                                  "unlink", "mkdir", "close", "mmap",     "prctl"};
enum Kind { kOpen, kWrite, kFsync, kTruncate, kRename, kUnlink, kMkdir, kClose, kMmap, kPrctl, kKindCount };
enum {
  kShort = -1,
  kLate = -2,
  kKill = -3,
  kStop = -4,
  kSlow = -5,
  kFull = -6,
  kLost = -7,
  kTorn = -8,
  kMisdirected = -9
};  // no errno

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int errno_named(const std::string& name) {
  const char* const behaviours[] = {"short", "late", "kill", "stop", "slow", "full", "lost", "torn", "misdirected"};
  for (int i = 0; i < 9; ++i)
    if (name == behaviours[i]) return -1 - i;
  return name == "ENOSPC" ? ENOSPC : name == "ENOMEM" ? ENOMEM : EIO;
}

struct Shim {
  std::string folder, plant;
  int trace = -1, kind = -1, first = 0, fault = 0;
  bool stays = false;
  std::atomic<int>* calls = nullptr;  // by kind, shared with forked processes

  Shim() {
    if (const char* text = std::getenv("FAULT_FOLDER")) folder = text;
    if (const char* text = std::getenv("FAULT_PLANT")) plant = text;
    if (const char* path = std::getenv("FAULT_TRACE")) {
      const int low = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666));
      trace = ::fcntl(low, F_DUPFD_CLOEXEC, 500);  // above the descriptors that the program expects
      ::syscall(SYS_close, low);
    }
    const char* counts = std::getenv("FAULT_COUNTS");
    const int file = counts ? static_cast<int>(::syscall(SYS_openat, AT_FDCWD, counts, O_RDWR)) : -1;
    void* shared = real(&::mmap, "mmap")(nullptr, 4096, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (shared == MAP_FAILED) std::abort();
    calls = static_cast<std::atomic<int>*>(shared);
    const char* call = std::getenv("FAULT_CALL");
    char named[16] = "", what[16] = "";
    if (!call || std::sscanf(call, "%15[^:]:%d:%15s", named, &first, what) != 3) return;
    for (int i = 0; i < kKindCount; ++i)
      if (named == std::string(kKinds[i])) kind = i;
    std::string error = what;
    stays = error.ends_with('+');
    if (stays) error.pop_back();
    stays |= error == "full";
    fault = errno_named(error);
  }

  bool holds(const std::string& path) const { return !folder.empty() && (path + "/").starts_with(folder + "/"); }
  // 0, an errno, or what this call does instead.
  int next(Kind of) {
    const int call = ++calls[of];
    if (of != kind || !(stays ? call >= first : call == first)) return 0;
    if (fault == kKill || fault == kStop) ::kill(::getpid(), fault == kKill ? SIGKILL : SIGSTOP);
    if (fault == kSlow) ::usleep(10'000);
    if (fault == kFull) return call == first ? kShort : ENOSPC;
    return fault;
  }
  // One write, so that records of several processes do not mix.
  void record(const std::string& line, const void* data = nullptr, std::size_t bytes = 0) const {
    if (trace < 0) return;
    iovec parts[] = {{const_cast<char*>(line.data()), line.size()}, {const_cast<void*>(data), bytes}};
    if (::syscall(SYS_writev, trace, parts, bytes > 0 ? 2 : 1) < 0) std::abort();
  }
};

Shim& shim() {
  static Shim* one = new Shim;  // not destroyed: programs write while they exit
  return *one;
}
[[gnu::constructor]] void begin() { shim(); }  // before any fork

std::string path_of(int descriptor) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return {path, length > 0 ? static_cast<std::size_t>(length) : 0};
}

std::string path_at(int folder, const char* path) {
  if (path[0] == '/') return std::filesystem::path(path).lexically_normal().string();
  const std::string base = folder == AT_FDCWD ? std::filesystem::current_path().string() : path_of(folder);
  std::string whole = (std::filesystem::path(base) / path).lexically_normal().string();
  if (whole.ends_with('/')) whole.pop_back();
  return whole;
}

std::string inode_of(int descriptor) {
  struct stat about {};
  ::fstat(descriptor, &about);
  return std::to_string(about.st_ino);
}

bool failed(int fault) {
  if (fault > 0) errno = fault;
  return fault > 0;
}

// The inode of a new file or folder, and its path.
int created(int descriptor, const std::string& path) {
  shim().record("create " + inode_of(descriptor) + " " + path + "\n");
  return descriptor;
}

int open_at(int folder, const char* name, int flags, mode_t mode) {
  const auto open = [&] { return real(&::openat, "openat")(folder, name, flags, mode); };
  const std::string path = path_at(folder, name);
  if (!shim().holds(path)) return open();
  if (failed(shim().next(kOpen))) return -1;
  struct stat about {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  const int descriptor = open();
  if (descriptor < 0) return descriptor;
  if (!exists && (flags & O_CREAT)) return created(descriptor, path);
  if (flags & O_TRUNC) shim().record("truncate " + inode_of(descriptor) + " 0\n");
  return descriptor;
}

// The disk reports success and has kept nothing, the first half, or all of it in another place of the file.
ssize_t write_wrongly(int descriptor, const void* data, std::size_t bytes, off64_t at, int fault) {
  struct stat about {};
  ::fstat(descriptor, &about);
  const bool appends = ::fcntl(descriptor, F_GETFL) & O_APPEND;
  const off64_t offset = at >= 0 ? at : appends ? about.st_size : ::lseek64(descriptor, 0, SEEK_CUR);
  const off64_t end = offset + static_cast<off64_t>(bytes);
  const std::string inode = inode_of(descriptor), name = "/proc/self/fd/" + std::to_string(descriptor);
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, name.c_str(), O_WRONLY));  // does not append
  shim().record("damage " + inode + "\n");
  if (end > about.st_size && real(&::ftruncate, "ftruncate")(file, end) == 0)
    shim().record("truncate " + inode + " " + std::to_string(end) + "\n");
  const std::size_t kept = fault == kLost ? 0 : fault == kTorn ? bytes / 2 : bytes;
  const off64_t place = fault != kMisdirected ? offset : offset >= 512 ? offset / 1024 * 512 : offset + 512;
  if (real(&::pwrite, "pwrite")(file, data, kept, place) > 0)
    shim().record("write " + inode + " " + std::to_string(place) + " " + std::to_string(kept) + "\n", data, kept);
  ::syscall(SYS_close, file);
  if (at < 0 && !appends) ::lseek64(descriptor, end, SEEK_SET);
  return static_cast<ssize_t>(bytes);
}

template <class Write>
ssize_t write_at(int descriptor, const void* data, std::size_t bytes, off64_t at, Write&& write) {
  if (!shim().holds(path_of(descriptor))) return write(bytes);
  const int fault = shim().next(kWrite);
  if (failed(fault)) return -1;
  if (fault <= kLost) return write_wrongly(descriptor, data, bytes, at, fault);
  const ssize_t written = write(fault == kShort && bytes > 1 ? bytes / 2 : bytes);
  if (written <= 0) return written;
  const off64_t offset = at >= 0 ? at : ::lseek64(descriptor, 0, SEEK_CUR) - written;
  shim().record("write " + inode_of(descriptor) + " " + std::to_string(offset) + " " + std::to_string(written) + "\n",
                data, static_cast<std::size_t>(written));
  return written;
}

template <class Truncate>
int truncate_to(const std::string& path, off64_t bytes, Truncate&& truncate) {
  if (!shim().holds(path)) return truncate();
  if (failed(shim().next(kTruncate))) return -1;
  const int done = truncate();
  struct stat about {};
  if (done == 0 && ::stat(path.c_str(), &about) == 0)
    shim().record("truncate " + std::to_string(about.st_ino) + " " + std::to_string(bytes) + "\n");
  return done;
}

// A call that changes names: `line` is its record.
template <class Call>
int change_names(Kind kind, const std::string& path, const std::string& line, Call&& call) {
  if (!shim().holds(path)) return call();
  if (failed(shim().next(kind))) return -1;
  const int done = call();
  if (done == 0) shim().record(line);
  return done;
}

mode_t mode_in(va_list more, int flags) { return flags & O_CREAT ? va_arg(more, mode_t) : 0; }

}  // namespace

extern "C" {

#define SINK_OPEN(name, parameters, folder)    \
  int name parameters {                        \
    va_list more;                              \
    va_start(more, flags);                     \
    const mode_t mode = mode_in(more, flags);  \
    va_end(more);                              \
    return open_at(folder, path, flags, mode); \
  }
SINK_OPEN(open, (const char* path, int flags, ...), AT_FDCWD)
SINK_OPEN(open64, (const char* path, int flags, ...), AT_FDCWD)
SINK_OPEN(openat, (int at, const char* path, int flags, ...), at)
SINK_OPEN(openat64, (int at, const char* path, int flags, ...), at)
#undef SINK_OPEN
static_assert(sizeof(off_t) == sizeof(off64_t), "the calls that end with 64 are the others");

int mkostemp(char* path, int flags) {
  if (!shim().holds(path_at(AT_FDCWD, path))) return real(&::mkostemp, "mkostemp")(path, flags);
  if (failed(shim().next(kOpen))) return -1;
  const int descriptor = real(&::mkostemp, "mkostemp")(path, flags);
  return descriptor < 0 ? descriptor : created(descriptor, path_at(AT_FDCWD, path));
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  return write_at(descriptor, data, bytes, -1, [&](size_t n) { return real(&::write, "write")(descriptor, data, n); });
}
ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
  return write_at(descriptor, data, bytes, at,
                  [&](size_t n) { return real(&::pwrite, "pwrite")(descriptor, data, n, at); });
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t at) {
  return pwrite(descriptor, data, bytes, at);
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (!shim().holds(path_of(descriptor))) return real(&::writev, "writev")(descriptor, parts, count);
  return count > 0 ? write(descriptor, parts[0].iov_base, parts[0].iov_len) : 0;  // a short write where there are more
}

int ftruncate(int descriptor, off_t bytes) {
  return truncate_to(path_of(descriptor), bytes, [&] { return real(&::ftruncate, "ftruncate")(descriptor, bytes); });
}
int ftruncate64(int descriptor, off64_t bytes) { return ftruncate(descriptor, bytes); }
int truncate(const char* path, off_t bytes) {
  return truncate_to(path_at(AT_FDCWD, path), bytes, [&] { return real(&::truncate, "truncate")(path, bytes); });
}
int truncate64(const char* path, off64_t bytes) { return truncate(path, bytes); }

int fsync(int descriptor) {
  if (!shim().holds(path_of(descriptor))) return real(&::fsync, "fsync")(descriptor);
  if (shim().plant == "fsync") return 0;
  if (failed(shim().next(kFsync))) return -1;
  const int done = real(&::fsync, "fsync")(descriptor);
  if (done == 0) shim().record("fsync " + inode_of(descriptor) + "\n");
  return done;
}
int fdatasync(int descriptor) { return fsync(descriptor); }

// Instead of a rename: the old file is emptied and gets the new bytes.
static int copy_over(const std::string& from, const std::string& to) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(from.c_str(), "rb"), &std::fclose);
  std::string bytes(std::filesystem::file_size(from), '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  const int target = open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const bool done = target >= 0 && write(target, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(target);
  return done ? unlinkat(AT_FDCWD, from.c_str(), 0) : -1;
}

int renameat(int from_at, const char* from, int to_at, const char* to) {
  const std::string a = path_at(from_at, from), b = path_at(to_at, to);
  if (shim().plant == "rename" && shim().holds(b) && std::filesystem::is_regular_file(a)) return copy_over(a, b);
  return change_names(kRename, b, "rename " + a + "\t" + b + "\n",
                      [&] { return real(&::renameat, "renameat")(from_at, from, to_at, to); });
}
int rename(const char* from, const char* to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int at, const char* name, int flags) {
  const std::string path = path_at(at, name);
  if (shim().plant == "unlink" && shim().holds(path) && path.find(".tmp-") != std::string::npos) return 0;
  return change_names(kUnlink, path, "unlink " + path + "\n",
                      [&] { return real(&::unlinkat, "unlinkat")(at, name, flags); });
}
int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  struct stat about {};
  return unlinkat(AT_FDCWD, path, ::lstat(path, &about) == 0 && S_ISDIR(about.st_mode) ? AT_REMOVEDIR : 0);
}
int mkdir(const char* name, mode_t mode) {
  const std::string path = path_at(AT_FDCWD, name);
  if (!shim().holds(path)) return real(&::mkdir, "mkdir")(name, mode);
  if (failed(shim().next(kMkdir))) return -1;
  const int done = real(&::mkdir, "mkdir")(name, mode);
  struct stat about {};
  if (done == 0 && ::stat(name, &about) == 0)
    shim().record("mkdir " + std::to_string(about.st_ino) + " " + path + "\n");
  return done;
}

int close(int descriptor) {
  const bool ours = shim().holds(path_of(descriptor));
  const int done = real(&::close, "close")(descriptor);
  return ours && failed(shim().next(kClose)) ? -1 : done;
}

void* mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const bool ours = descriptor >= 0 && shim().holds(path_of(descriptor));
  if (ours && (protection & PROT_WRITE) && (flags & MAP_SHARED)) std::abort();  // such writes are not recorded
  if (ours && failed(shim().next(kMmap))) return MAP_FAILED;
  return real(&::mmap, "mmap")(at, bytes, protection, flags, descriptor, offset);
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int descriptor, off64_t offset) {
  return mmap(at, bytes, protection, flags, descriptor, offset);
}

int prctl(int option, ...) {
  va_list more;
  va_start(more, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(more, unsigned long);
  va_end(more);
  if (option == PR_SET_PDEATHSIG && shim().plant == "prctl") return 0;
  const pid_t parent = ::getppid();
  if (option == PR_SET_PDEATHSIG && shim().next(kPrctl) == kLate)
    for (int i = 0; i < 200 && ::getppid() == parent; ++i) ::usleep(10'000);  // 2 s where it is gone already
  return static_cast<int>(::syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]));
}
}
