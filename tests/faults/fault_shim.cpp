// For LD_PRELOAD: calls on the files of one folder fail as asked, and those that change the folder are recorded.
//
//   FAULT_FOLDER  the folder, without links in its path; calls on other files are the C library's
//   FAULT_CALL    KIND:N:WHAT: the N-th call of this kind (from 1, counted over all forked processes) fails with the
//                 errno WHAT (ENOSPC, ENOMEM or EIO); WHAT+ fails all calls from there on. `short`: half the bytes are
//                 written. KIND is open, write, fsync, truncate, rename, unlink, mkdir, close or mmap. prctl:N:late:
//                 the call that ties a child to its parent waits until the parent is gone.
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
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

constexpr const char* kKinds[] = {"open",   "write", "fsync", "truncate", "rename",
                                  "unlink", "mkdir", "close", "mmap",     "prctl"};
enum Kind { kOpen, kWrite, kFsync, kTruncate, kRename, kUnlink, kMkdir, kClose, kMmap, kPrctl, kKindCount };
constexpr int kShort = -1, kLate = -2;  // instead of an errno

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int errno_named(const std::string& name) {
  if (name == "short") return kShort;
  if (name == "late") return kLate;
  return name == "ENOSPC" ? ENOSPC : name == "ENOMEM" ? ENOMEM : EIO;
}

struct Shim {
  std::string folder;
  int trace = -1, kind = -1, first = 0, fault = 0;
  bool stays = false;
  std::atomic<int>* calls = nullptr;  // by kind, shared with forked processes

  Shim() {
    if (const char* text = std::getenv("FAULT_FOLDER")) folder = text;
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
    fault = errno_named(error);
  }

  bool holds(const std::string& path) const { return !folder.empty() && (path + "/").starts_with(folder + "/"); }
  // 0, an errno, kShort or kLate for this call.
  int next(Kind of) {
    const int call = ++calls[of];
    return of == kind && (stays ? call >= first : call == first) ? fault : 0;
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

template <class Write>
ssize_t write_at(int descriptor, const void* data, std::size_t bytes, off64_t at, Write&& write) {
  if (!shim().holds(path_of(descriptor))) return write(bytes);
  const int fault = shim().next(kWrite);
  if (failed(fault)) return -1;
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
  if (failed(shim().next(kFsync))) return -1;
  const int done = real(&::fsync, "fsync")(descriptor);
  if (done == 0) shim().record("fsync " + inode_of(descriptor) + "\n");
  return done;
}
int fdatasync(int descriptor) { return fsync(descriptor); }

int renameat(int from_at, const char* from, int to_at, const char* to) {
  const std::string a = path_at(from_at, from), b = path_at(to_at, to);
  return change_names(kRename, b, "rename " + a + "\t" + b + "\n",
                      [&] { return real(&::renameat, "renameat")(from_at, from, to_at, to); });
}
int rename(const char* from, const char* to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int at, const char* name, int flags) {
  const std::string path = path_at(at, name);
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
  const pid_t parent = ::getppid();
  if (option == PR_SET_PDEATHSIG && shim().next(kPrctl) == kLate)
    for (int i = 0; i < 200 && ::getppid() == parent; ++i) ::usleep(10'000);  // 2 s where it is gone already
  return static_cast<int>(::syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]));
}
}
