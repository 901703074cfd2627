#include "eval/model_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <vector>

#include "engine/check.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The GGUF files of a folder, sorted.
std::vector<std::string> gguf_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
    if (file->path().extension() == ".gguf") files.push_back(file->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string in_folder(const std::string& folder) {
  if (is_there(fs::path(folder) / "config.json")) return folder;
  if (const fs::path checkpoint = fs::path(folder) / "checkpoint.h5"; is_there(checkpoint)) return checkpoint.string();
  const std::vector<std::string> files = gguf_files(folder);
  if (files.size() > 1)
    throw Error(printable(folder) + " has " + counted(static_cast<std::int64_t>(files.size()), "GGUF file") +
                    ": expected one of them, such as " + printable(files[0]),
                Exit::usage);
  return files.empty() ? folder : files[0];
}

fs::path hub_cache() {
  auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  if (const std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = variable("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "huggingface/hub";
  return fs::path(variable("HOME")) / ".cache/huggingface/hub";
}

constexpr std::size_t kLongestHubName = 200;

// ORG/NAME: two names of letters, digits, ".", "_" and "-". A file name is none.
bool is_hub_name(const std::string& given) {
  if (given.size() > kLongestHubName) return false;  // the recursion of std::regex would use up the stack
  for (const char* ending : {".h5", ".gguf", ".bin", ".safetensors"})
    if (given.ends_with(ending)) return false;
  static const std::regex form("[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*");
  return std::regex_match(given, form);
}

// models--ORG--NAME/refs/main names the snapshot.
std::string in_hub_cache(const std::string& name) {
  std::string folder_name = "models--" + name;
  folder_name.replace(folder_name.find('/'), 1, "--");
  const fs::path folder = hub_cache() / folder_name;
  std::string commit;
  std::ifstream(folder / "refs/main") >> commit;
  const fs::path snapshot = folder / "snapshots" / commit;
  if (commit.empty() || commit.find('/') != std::string::npos || !is_there(snapshot))
    throw Error("there is no file or folder " + name + ". If it is a model of the Hugging Face hub, run `hf download " +
                    name + "` first: its cache, " + printable(hub_cache().string()) + ", does not have it",
                Exit::bad_input);
  return in_folder(snapshot.string());
}

}  // namespace

std::string model_path(const std::string& given) {
  std::error_code ignored;
  if (fs::is_directory(given, ignored)) return in_folder(given);
  return !is_there(given) && is_hub_name(given) ? in_hub_cache(given) : given;
}

}  // namespace sink
