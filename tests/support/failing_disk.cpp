// For LD_PRELOAD: a disk that fails. From the FAILING_DISK_CALL-th call on (from 1) that changes a regular file, all of
// them fail with the errno FAILING_DISK_ERRNO.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {

int number_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

bool fails(int descriptor) {
  static const int first = number_of("FAILING_DISK_CALL"), error = number_of("FAILING_DISK_ERRNO");
  static int calls = 0;
  struct stat about;
  if (first == 0 || ::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || ++calls < first) return false;
  errno = error;
  return true;
}

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t bytes) {
  return fails(descriptor) ? -1 : real(&::write, "write")(descriptor, data, bytes);
}
ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
  return fails(descriptor) ? -1 : real(&::pwrite, "pwrite")(descriptor, data, bytes, at);
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t at) {
  return fails(descriptor) ? -1 : real(&::pwrite64, "pwrite64")(descriptor, data, bytes, at);
}
int ftruncate(int descriptor, off_t bytes) {
  return fails(descriptor) ? -1 : real(&::ftruncate, "ftruncate")(descriptor, bytes);
}
int ftruncate64(int descriptor, off64_t bytes) {
  return fails(descriptor) ? -1 : real(&::ftruncate64, "ftruncate64")(descriptor, bytes);
}
int fsync(int descriptor) { return fails(descriptor) ? -1 : real(&::fsync, "fsync")(descriptor); }
}
