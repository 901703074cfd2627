#include "model/checkpoint_seal.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/check.h"
#include "model/atomic_file.h"

namespace sink {
namespace {

constexpr const char* kMagic = "sinklab-checkpoint ";

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(const void* data, std::size_t bytes) { EVP_DigestUpdate(context_.get(), data, bytes); }
  std::string hex() {
    unsigned char digest[32];
    EVP_DigestFinal_ex(context_.get(), digest, nullptr);
    std::string text;
    for (unsigned char byte : digest) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string seal_text(const std::string& digest, std::size_t bytes) {
  std::string text = kMagic + std::to_string(kCheckpointVersion) + "\nbytes " + std::to_string(bytes) + "\nsha256 " +
                     digest + "\nHDF5 follows these 512 bytes; look inside with: h5ls -r FILE\n";
  text.resize(kSealBytes, '\0');
  return text;
}

class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0 && (errno == ENOENT || errno == ENOTDIR)) {
      throw Error("there is no checkpoint " + path, Exit::bad_input);
    }
    if (descriptor_ < 0) fail_io("open", path, errno);
    struct stat status;
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      throw Error(path + " is not a file; expected a checkpoint such as runs/NAME/checkpoint.h5", Exit::bad_input);
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

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(path + " " + why, Exit::corrupt_checkpoint);
}

constexpr const char* kAdvice = "; go back to another copy or start again";

[[noreturn]] void refuse_foreign(const std::string& path, const std::string& head) {
  constexpr char kHdf5Signature[] = "\x89HDF\r\n\x1a\n";
  if (head.starts_with(kHdf5Signature)) refuse(path, "is an HDF5 file, but not a checkpoint written by Sinklab");
  refuse(path, "is not a Sinklab checkpoint (its first bytes are not `sinklab-checkpoint`)");
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

std::string make_seal(const void* data, std::size_t bytes) {
  Sha256 digest;
  digest.add(data, bytes);
  return seal_text(digest.hex(), bytes);
}

void verify_seal(const std::string& path) {
  InputFile file(path);
  if (file.bytes() == 0) refuse(path, std::string("is empty") + kAdvice);
  std::string seal(kSealBytes, '\0');
  seal.resize(file.read(seal.data(), seal.size()));

  std::size_t at = 0, version = 0, expected_bytes = 0;
  if (!read_number(seal, at, kMagic, version)) refuse_foreign(path, seal);
  if (version != static_cast<std::size_t>(kCheckpointVersion)) {
    refuse(path, "is a checkpoint of version " + std::to_string(version) + "; this program reads version " +
                     std::to_string(kCheckpointVersion));
  }
  if (seal.size() < kSealBytes) {
    refuse(path, "is truncated: it ends after " + std::to_string(seal.size()) + " bytes" + kAdvice);
  }
  if (!read_number(seal, at, "\nbytes ", expected_bytes)) refuse(path, std::string("has a damaged header") + kAdvice);
  std::size_t came = file.bytes() - kSealBytes;
  if (came != expected_bytes) {
    refuse(path, std::string(came < expected_bytes ? "is truncated" : "has bytes behind its end") + ": expected " +
                     std::to_string(expected_bytes + kSealBytes) + " bytes, found " + std::to_string(file.bytes()) +
                     kAdvice);
  }

  Sha256 digest;
  std::vector<char> chunk(std::size_t{1} << 20);
  while (std::size_t got = file.read(chunk.data(), chunk.size())) digest.add(chunk.data(), got);
  if (seal_text(digest.hex(), came) != seal) {
    refuse(path, std::string("is damaged: its checksum does not fit its contents (a flipped bit, or edited since)") +
                     kAdvice);
  }
}

}  // namespace sink
