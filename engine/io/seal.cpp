#include "engine/io/seal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/sha256.h"

namespace sink {
namespace {

std::string magic(const SealKind& kind) { return std::string("sinklab-") + kind.word; }

std::string seal_text(const SealKind& kind, int version, const std::string& digest, std::size_t bytes) {
  std::string text = magic(kind) + " " + std::to_string(version) + "\nbytes " + std::to_string(bytes) + "\nsha256 " +
                     digest + "\nHDF5 follows these 512 bytes; look inside with: h5ls -r FILE\n";
  text.resize(kSealBytes, '\0');
  return text;
}

class InputFile {
 public:
  InputFile(const SealKind& kind, const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0 && (errno == ENOENT || errno == ENOTDIR)) {
      throw Error(std::string("there is no ") + kind.noun + " " + path + "; " + kind.origin, Exit::bad_input);
    }
    if (descriptor_ < 0 && (errno == EACCES || errno == EPERM || errno == ELOOP)) {
      throw Error("cannot open " + path + ": " + std::strerror(errno), Exit::bad_input);
    }
    if (descriptor_ < 0) fail_io("open", path, errno);
    struct stat status;
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      throw Error(path + " is not a file; expected a " + kind.noun + "; " + kind.origin, Exit::bad_input);
    }
    bytes_ = static_cast<std::size_t>(status.st_size);
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::size_t bytes() const { return bytes_; }

  // Reads up to `bytes`, fewer only at the end of the file.
  std::size_t read(void* data, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      ssize_t got = ::read(descriptor_, static_cast<char*>(data) + done, bytes - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_io("read", path_, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  std::string path_;
  int descriptor_;
  std::size_t bytes_ = 0;
};

[[noreturn]] void refuse(const SealKind& kind, const std::string& path, const std::string& why) {
  throw Error(path + " " + why + "; " + kind.remedy, kind.damaged);
}

[[noreturn]] void refuse_foreign(const SealKind& kind, const std::string& path, const std::string& head) {
  constexpr char kHdf5Signature[] = "\x89HDF\r\n\x1a\n";
  std::string noun = kind.noun;
  std::string what = head.starts_with(kHdf5Signature)
                         ? "is an HDF5 file, but not a " + noun + ": it has no seal"
                         : "is not a Sinklab " + noun + " (its first bytes are not `" + magic(kind) + "`)";
  throw Error(path + " " + what + "; " + kind.foreign, kind.damaged);
}

// The whole number after `label`, which must stand at `at`; leaves `at` behind it.
bool read_number(const std::string& text, std::size_t& at, const std::string& label, std::size_t& number) {
  if (text.compare(at, label.size(), label) != 0) return false;
  const char* begin = text.data() + at + label.size();
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  at = static_cast<std::size_t>(end - text.data());
  return error == std::errc();
}

}  // namespace

std::string make_seal(const SealKind& kind, const void* data, std::size_t bytes) {
  return make_seal(kind, sha256_hex({static_cast<const char*>(data), bytes}), bytes);
}

std::string make_seal(const SealKind& kind, const std::string& sha256, std::size_t bytes) {
  return seal_text(kind, kind.version, sha256, bytes);
}

int verify_seal(const SealKind& kind, const std::string& path) {
  InputFile file(kind, path);
  if (file.bytes() == 0) refuse(kind, path, "is empty");
  std::string seal(kSealBytes, '\0');
  seal.resize(file.read(seal.data(), seal.size()));

  std::size_t at = 0, version = 0, expected_bytes = 0;
  if (!read_number(seal, at, magic(kind) + " ", version)) refuse_foreign(kind, path, seal);
  if (version < static_cast<std::size_t>(kind.oldest) || version > static_cast<std::size_t>(kind.version)) {
    refuse(kind, path,
           std::string("is a ") + kind.noun + " of version " + std::to_string(version) +
               "; this program reads version " + std::to_string(kind.version) +
               (kind.oldest < kind.version ? " and older ones from " + std::to_string(kind.oldest) : ""));
  }
  if (seal.size() < kSealBytes) {
    refuse(kind, path, "is truncated: it ends after " + std::to_string(seal.size()) + " bytes");
  }
  if (!read_number(seal, at, "\nbytes ", expected_bytes)) refuse(kind, path, "has a damaged header");
  std::size_t came = file.bytes() - kSealBytes;
  if (came != expected_bytes) {
    refuse(kind, path,
           std::string(came < expected_bytes ? "is truncated" : "has bytes behind its end") + ": expected " +
               std::to_string(expected_bytes + kSealBytes) + " bytes, found " + std::to_string(file.bytes()));
  }

  Sha256 digest;
  std::vector<char> chunk(std::size_t{1} << 20);
  while (std::size_t got = file.read(chunk.data(), chunk.size())) digest.add(chunk.data(), got);
  if (seal_text(kind, static_cast<int>(version), digest.hex(), came) != seal) {
    refuse(kind, path, "is damaged: its checksum does not fit its contents (a flipped bit, or edited since)");
  }
  return static_cast<int>(version);
}

}  // namespace sink
