#include "engine/io/output_kind.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "engine/check.h"
#include "engine/io/file.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

std::string beginning_of(const std::string& path) {
  std::string text(std::size_t{1} << 16, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file && is_shortage(errno)) fail_io("open", path, errno);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Without links; empty where that cannot be found out.
fs::path real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path() : real;
}

}  // namespace

OutputKind kind_by_text(const char* noun, const std::string& begin, std::vector<std::string> words) {
  auto recognises = [begin, words = std::move(words)](const std::string& path) {
    std::string text = beginning_of(path);
    return text.starts_with(begin) && std::all_of(words.begin(), words.end(), [&](const std::string& word) {
             return text.find(word) != std::string::npos;
           });
  };
  return {noun, recognises};
}

void require_output(const std::string& path, const OutputKind& kind, bool force) {
  int own_descriptor = -1;
  follow_links(path, own_descriptor);
  if (own_descriptor >= 0) return;
  std::error_code error;
  fs::file_status there = fs::status(path, error);
  if (!fs::exists(there)) {
    fs::path folder = fs::path(path).parent_path();
    if (folder.empty()) folder = ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0) fail_io("write", path, errno);
    return;
  }
  if (fs::is_directory(there)) fail_io("write", path, EISDIR);
  if (!fs::is_regular_file(there) || force || fs::file_size(path, error) == 0) return;
  if (!kind.recognises(path)) {
    throw Error(path + " already exists and is not " + kind.noun + "; choose another name, or --force replaces it",
                Exit::usage);
  }
  if (::access(path.c_str(), W_OK) != 0)
    throw Error(path + " is write-protected; choose another name, or --force replaces it", Exit::usage);
}

void require_two_files(const FlagPath& one, const FlagPath& other) {
  if (one.path.empty() || other.path.empty()) return;
  const fs::path real = real_path(one.path);
  std::error_code error;
  if (real.empty() || real != real_path(other.path)) return;
  if (fs::exists(real, error) && !fs::is_regular_file(real, error)) return;
  throw Error(one.flag + " and " + other.flag + " both write " + other.path +
                  "; expected two files, give another name to one of them",
              Exit::usage);
}

}  // namespace sink
