#include "model/tokenizer/whole_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/check.h"

namespace sink {

namespace {

std::string cause() { return std::strerror(errno); }

// Writes and flushes one temporary; returns the cause of failure, or nothing.
std::string write_temporary(const std::string& path, std::string_view bytes) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return cause();
  std::string failure;
  while (!bytes.empty() && failure.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      failure = cause();
    }
  }
  if (failure.empty() && ::fsync(file) != 0) failure = cause();
  if (::close(file) != 0 && failure.empty()) failure = cause();
  return failure;
}

void flush_folder(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  ::fsync(handle);
  ::close(handle);
}

}  // namespace

std::string read_file(const char* tag, const std::string& path) {
  struct stat about;
  SINK_CHECK(::stat(path.c_str(), &about) == 0, tag, path + ": " + cause(), Exit::bad_input);
  SINK_CHECK(!S_ISDIR(about.st_mode), tag, path + ": is a folder, expected a file", Exit::bad_input);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  SINK_CHECK(file != nullptr, tag, path + ": " + cause(), Exit::bad_input);
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file);
  // What cannot say its size beforehand (a pipe) is read piece by piece.
  std::array<char, 1 << 16> piece;
  if (got == bytes.size()) {
    while (std::size_t more = std::fread(piece.data(), 1, piece.size(), file)) bytes.append(piece.data(), more);
  }
  bool whole = !std::ferror(file) && got >= static_cast<std::size_t>(about.st_size);
  std::fclose(file);
  SINK_CHECK(whole, tag, path + ": could not be read to its end", Exit::bad_input);
  return bytes;
}

void write_files(const char* tag, const std::vector<NamedBytes>& files) {
  auto temporary = [](const std::string& path) { return path + ".tmp" + std::to_string(::getpid()); };
  auto clean = [&] {
    for (const NamedBytes& file : files) ::unlink(temporary(file.path).c_str());
  };
  for (const NamedBytes& file : files) {
    std::string failure = write_temporary(temporary(file.path), file.bytes);
    if (failure.empty()) continue;
    clean();
    fail(tag, "cannot write " + file.path + ": " + failure, Exit::io);
  }
  for (const NamedBytes& file : files) {
    if (::rename(temporary(file.path).c_str(), file.path.c_str()) == 0) continue;
    std::string failure = cause();
    clean();
    fail(tag, "cannot write " + file.path + ": " + failure, Exit::io);
  }
  for (const NamedBytes& file : files) flush_folder(file.path);
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest;
  SINK_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1, "sha256",
             "the OpenSSL library offers no SHA-256");
  std::string hex;
  for (unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace sink
