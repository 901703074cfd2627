// A small prepared text in a folder of its own, and errors as text.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "engine/check.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/whole_file.h"
#include "train/data/token_file.h"

namespace sink::test {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& file) const { return (path_ / file).string(); }
  std::string str() const { return path_.string(); }
  int files() const {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) { return "exit " + std::to_string(static_cast<int>(error.code)) + " " + error.what(); }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Tokens count up modulo 251, so that each tells its place; `train` and `valid` are numbers of tokens.
inline void write_counting_text(const TemporaryFolder& folder, std::size_t train, std::size_t valid) {
  std::string json = Tokenizer::train({"x"}, 258).json();
  TokenFile file;
  file.vocabulary = 258;
  file.sources = "counting";
  file.tokenizer_sha256 = sha256_hex(json);
  for (std::size_t i = 0; i < train; ++i) file.train.push_back(static_cast<std::int32_t>(i % 251));
  for (std::size_t i = 0; i < valid; ++i) file.valid.push_back(static_cast<std::int32_t>(i % 251));
  write_files("test", {{folder / "tokenizer.json", json}, {folder / "tokens.h5", to_token_file_bytes(file)}});
}

}  // namespace sink::test
