#include "engine/io/checksum_header.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "engine/io/failed_download.h"
#include "engine/io/file.h"
#include "engine/io/sha256.h"

namespace sink {
namespace {

std::string magic(const FileFormat& format) { return std::string("sinklab-") + format.word; }

std::string header_text(const FileFormat& format, int version, const std::string& digest, std::size_t bytes) {
  std::string text = magic(format) + " " + std::to_string(version) + "\nbytes " + std::to_string(bytes) + "\nsha256 " +
                     digest + "\nHDF5 follows these 512 bytes; look inside with: h5ls -r FILE\n";
  text.resize(kChecksumHeaderBytes, '\0');
  return text;
}

FileDescriptor open_regular(const FileFormat& format, const std::string& path, std::size_t& bytes) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
    throw Error(std::string("there is no ") + format.noun + " " + path + "; " + format.origin, Exit::bad_input);
  if (file < 0 && (errno == EACCES || errno == EPERM || errno == ELOOP || errno == ENAMETOOLONG))
    throw Error("cannot open " + path + ": " + std::strerror(errno), Exit::bad_input);
  if (file < 0) fail_io("open", path, errno);
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(path + " is not a file; expected a " + format.noun + "; " + format.origin, Exit::bad_input);
  bytes = static_cast<std::size_t>(status.st_size);
  return file;
}

[[noreturn]] void refuse(const FileFormat& format, const std::string& path, const std::string& why) {
  throw Error(path + " " + why + "; " + format.remedy, format.damaged);
}

[[noreturn]] void refuse_foreign(const FileFormat& format, const std::string& path, const std::string& head) {
  constexpr char kHdf5Signature[] = "\x89HDF\r\n\x1a\n";
  if (const std::string failed = failed_download(head); !failed.empty())
    throw Error(path + " " + failed, format.damaged);
  std::string noun = format.noun;
  std::string what = head.starts_with(kHdf5Signature)
                         ? "is an HDF5 file, but not a " + noun + ": it has no checksum header"
                         : "is not a Sinklab " + noun + " (its first bytes are not `" + magic(format) + "`)";
  throw Error(path + " " + what + "; " + format.foreign, format.damaged);
}

// Reads the whole number after `label`, which is expected at `at`, and moves `at` past it.
bool read_number(const std::string& text, std::size_t& at, const std::string& label, std::size_t& number) {
  if (text.compare(at, label.size(), label) != 0) return false;
  const char* begin = text.data() + at + label.size();
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  at = static_cast<std::size_t>(end - text.data());
  return error == std::errc();
}

}  // namespace

std::string make_checksum_header(const FileFormat& format, const void* data, std::size_t bytes) {
  return make_checksum_header(format, sha256_hex({static_cast<const char*>(data), bytes}), bytes);
}

std::string make_checksum_header(const FileFormat& format, const std::string& sha256, std::size_t bytes) {
  return header_text(format, format.version, sha256, bytes);
}

VerifiedFile verify_checksum(const FileFormat& format, const std::string& path) {
  std::size_t file_bytes = 0;
  FileDescriptor file = open_regular(format, path, file_bytes);
  if (file_bytes == 0) refuse(format, path, "is empty");
  auto read = [&](std::size_t offset, auto& to) {
    int error = 0;
    to.resize(read_at(file, offset, to.data(), to.size(), error));
    if (error) fail_io("read", path, error);
    return to.size();
  };
  std::string header(kChecksumHeaderBytes, '\0');
  read(0, header);

  std::size_t at = 0, version = 0, expected_bytes = 0;
  if (!read_number(header, at, magic(format) + " ", version)) refuse_foreign(format, path, header);
  if (version < static_cast<std::size_t>(format.oldest) || version > static_cast<std::size_t>(format.version)) {
    refuse(format, path,
           std::string("is a ") + format.noun + " of version " + std::to_string(version) +
               "; this program reads version " + std::to_string(format.version) +
               (format.oldest < format.version ? " and older ones from " + std::to_string(format.oldest) : ""));
  }
  if (header.size() < kChecksumHeaderBytes)
    refuse(format, path, "is truncated: it ends after " + std::to_string(header.size()) + " bytes");
  if (!read_number(header, at, "\nbytes ", expected_bytes)) refuse(format, path, "has a damaged header");
  const std::size_t found_bytes = file_bytes - kChecksumHeaderBytes;
  if (found_bytes != expected_bytes) {
    refuse(format, path,
           std::string(found_bytes < expected_bytes ? "is truncated" : "has bytes after its end") + ": expected " +
               std::to_string(expected_bytes + kChecksumHeaderBytes) + " bytes, found " + std::to_string(file_bytes));
  }

  Sha256 digest;
  std::vector<char> block(std::size_t{1} << 20);
  for (std::size_t offset = kChecksumHeaderBytes; std::size_t got = read(offset, block); offset += got)
    digest.add(block.data(), got);
  if (header_text(format, static_cast<int>(version), digest.hex(), found_bytes) != header)
    refuse(format, path, "is damaged: its checksum does not match its contents (a flipped bit, or edited since)");
  return {std::move(file), static_cast<int>(version)};
}

}  // namespace sink
