#include "train/run_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/check.h"
#include "engine/file.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

// What a run killed in its first moments leaves: the temporary of its first file (engine/file.h).
bool is_temporary(const fs::path& file) {
  std::string name = file.filename().string();
  return name.starts_with(".") && name.find(".tmp-") != std::string::npos;
}

bool is_free(const std::string& path) {
  if (!fs::exists(path)) return true;
  if (!fs::is_directory(path)) return false;
  for (const auto& entry : fs::directory_iterator(path))
    if (!is_temporary(entry.path())) return false;
  return true;
}

// Only a folder that a run of ours began may be emptied by --force, and only of the files a run writes.
void remove_older_run(const RunFolder& folder) {
  if (!fs::is_directory(folder.path) || !fs::exists(folder.config())) {
    throw Error(
        folder.path + " is not a run folder (it has no config.toml); --force leaves it alone, choose another --run",
        Exit::usage);
  }
  for (const std::string& file : {folder.metrics(), folder.checkpoint(), folder.evaluation(), folder.config()}) {
    std::error_code error;
    fs::remove(file, error);
    if (error) fail_io("remove", file, error.value());
  }
}

bool lies_in(const std::string& file, const std::string& folder) {
  std::error_code error;
  return fs::equivalent(fs::path(file).parent_path().empty() ? "." : fs::path(file).parent_path(), folder, error);
}

}  // namespace

RunFolder open_run_folder(const RunConfig& config) {
  RunFolder folder;
  folder.path = config.run;
  while (folder.path.size() > 1 && folder.path.back() == '/') folder.path.pop_back();
  if (fs::exists(folder.path) && !fs::is_directory(folder.path)) {
    throw Error(folder.path + " is a file; --run needs a folder", Exit::usage);
  }
  if (config.resume == "auto") {
    if (fs::exists(folder.checkpoint())) {
      folder.resume_from = folder.checkpoint();
    } else if (!is_free(folder.path) && !fs::exists(folder.config())) {
      throw Error(folder.path + " holds files but no run to go on with; choose another --run", Exit::usage);
    }
  } else if (config.resume != "never") {
    folder.resume_from = config.resume;
    if (!fs::is_regular_file(config.resume)) {
      throw Error("--resume: there is no checkpoint " + config.resume, Exit::bad_input);
    }
  }
  bool goes_on_here =
      config.resume == "auto" || (!folder.resume_from.empty() && lies_in(folder.resume_from, folder.path));
  if (!goes_on_here && !is_free(folder.path)) {
    if (!config.force) {
      throw Error(folder.path + " already holds files; --resume auto goes on with that run, --force replaces it",
                  Exit::usage);
    }
    remove_older_run(folder);
  }
  std::error_code error;
  fs::create_directories(folder.path, error);
  if (error) fail_io("make the folder", folder.path, error.value());
  if (::access(folder.path.c_str(), W_OK | X_OK) != 0) fail_io("write into", folder.path, errno);
  return folder;
}

}  // namespace sink
