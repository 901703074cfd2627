#include "eval/model_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <vector>

#include "engine/check.h"
#include "engine/io/failed_download.h"
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

// Whether a folder has a file whose name has this end.
bool has_file(const std::string& folder, const std::string& end) {
  std::error_code error;
  for (fs::directory_iterator file(folder, error), last; !error && file != last; file.increment(error))
    if (file->path().filename().string().ends_with(end)) return true;
  return false;
}

// Of a folder models--ORG--NAME: the snapshot that refs/main names, or without it the only one. Empty: none.
fs::path snapshot_in(const fs::path& folder) {
  std::error_code error;
  const fs::path main = folder / "refs/main", snapshots = folder / "snapshots";
  std::string commit;
  if (fs::is_regular_file(main, error)) std::ifstream(main) >> commit;
  if (!commit.empty() && commit.find('/') == std::string::npos && is_there(snapshots / commit))
    return snapshots / commit;
  if (is_there(main)) return {};
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(snapshots, error), end; !error && entry != end; entry.increment(error))
    found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  if (found.size() > 1)
    throw Error(printable(folder.string()) + " has " + counted(std::ssize(found), "snapshot") +
                    " and no refs/main: expected one of them, such as " + printable(found[0].string()),
                Exit::usage);
  return found.empty() ? fs::path() : found[0];
}

std::string in_folder(const std::string& folder) {
  if (is_there(fs::path(folder) / "config.json") &&
      (has_file(folder, ".safetensors") || has_file(folder, ".safetensors.index.json") || has_file(folder, ".bin") ||
       !has_file(folder, ".gguf")))
    return folder;
  if (const fs::path checkpoint = fs::path(folder) / "checkpoint.h5"; is_there(checkpoint)) return checkpoint.string();
  if (const fs::path snapshots = fs::path(folder) / "snapshots"; is_there(snapshots))
    if (const fs::path snapshot = snapshot_in(folder); !snapshot.empty()) return in_folder(snapshot.string());
  std::vector<std::string> files = gguf_files(folder);
  // Of a model in several files the first, which leads to the others.
  std::erase_if(files, [](const std::string& file) {
    static const std::regex later("-[0-9]{5}-of-[0-9]{5}[.]gguf");
    const std::string end = file.substr(file.size() - std::min<std::size_t>(file.size(), 20));
    return std::regex_match(end, later) && !end.starts_with("-00001-");
  });
  if (files.size() > 1)
    throw Error(printable(folder) + " has " + counted(static_cast<std::int64_t>(files.size()), "GGUF file") +
                    ": expected one of them, such as " + printable(files[0]),
                Exit::usage);
  return files.empty() ? folder : files[0];
}

fs::path hub_cache() {
  auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const std::string cache = variable(name); !cache.empty()) return cache;
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

std::string in_hub_cache(const std::string& name) {
  std::string folder_name = "models--" + name;
  folder_name.replace(folder_name.find('/'), 1, "--");
  const fs::path snapshot = snapshot_in(hub_cache() / folder_name);
  if (snapshot.empty())
    throw Error("there is no file or folder " + name + ". If it is a model of the Hugging Face hub, run `hf download " +
                    name + "` first: its cache, " + printable(hub_cache().string()) + ", does not have it",
                Exit::bad_input);
  return in_folder(snapshot.string());
}

// Names of models in other programs, and files that are no model.
void refuse_other_kinds(const std::string& given) {
  std::error_code ignored;
  auto refuse = [&](const std::string& why) { throw Error(printable(given) + " " + why, Exit::bad_input); };
  if (!is_there(given)) {
    if (given.find("://") != std::string::npos)
      refuse("is an address, and nothing is downloaded: run `hf download ORG/NAME` and give ORG/NAME, or give a file");
    static const std::regex ollama("[A-Za-z0-9._-]{1,100}:[A-Za-z0-9._-]{1,100}"), plain("[A-Za-z0-9_-]{1,100}");
    if (given.size() > kLongestHubName) return;
    if (std::regex_match(given, ollama))
      refuse("is no file: if it is a model of Ollama, give its GGUF file, which `ollama show --modelfile " + given +
             "` names after FROM");
    if (std::regex_match(given, plain))
      refuse("is no file or folder: expected the folder of a run (runs/" + given +
             "), a file, or a model of the hub with its organisation (ORG/" + given + ")");
    return;
  }
  if (!fs::is_regular_file(given, ignored)) return;
  std::string begin(64, '\0');
  std::ifstream file(given, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (const std::string failed = failed_download(begin); !failed.empty())
    throw Error(printable(given) + " " + failed, Exit::corrupt_checkpoint);
  if (given.ends_with(".safetensors"))
    refuse("holds only weights: expected the folder that holds them and config.json");
  if (given.ends_with(".json")) refuse("is JSON and holds no weights: expected the folder of the model");
  for (const char* end : {".pt", ".pth", ".ckpt"})
    if (given.ends_with(end))
      refuse(
          "is a pickle of PyTorch, which can run programs and is not read: expected a folder with config.json and "
          "safetensors, which save_pretrained(FOLDER) writes");
  static const std::regex piece(".*[.]gguf[.]part[0-9]{1,5}of[0-9]{1,5}");
  if (given.size() <= kLongestHubName && std::regex_match(given, piece))
    refuse("is a piece of a GGUF file: join all of them in order, `cat MODEL.gguf.part* > MODEL.gguf`");
}

}  // namespace

std::string model_path(const std::string& given) {
  std::error_code ignored;
  if (fs::is_directory(given, ignored)) return in_folder(given);
  refuse_other_kinds(given);
  return !is_there(given) && is_hub_name(given) ? in_hub_cache(given) : given;
}

}  // namespace sink
