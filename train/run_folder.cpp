#include "train/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "engine/check.h"
#include "engine/io/file.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

// What a run killed in its first moments leaves: the temporary of its first file (engine/io/file.h).
bool is_temporary(const fs::path& file) {
  std::string name = file.filename().string();
  return name.starts_with(".") && name.find(".tmp-") != std::string::npos;
}

bool is_free(const std::string& path) {
  for (const auto& entry : fs::directory_iterator(path))
    if (!is_temporary(entry.path()) && entry.path().filename() != kLockName) return false;
  return true;
}

// The files of a run in a folder (failure.txt: of one of a sweep that failed; birth: a folder of birth_checkpoints.h;
// view.html: of `sinklab view`). config.toml, which every run has, is moved and removed last: it says that all are
// there.
std::vector<std::string> files_of_run(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    for (const char* begin : {"events.out.tfevents.", "metrics.damaged-"})
      if (const std::string name = entry.path().filename().string(); name.starts_with(begin)) files.push_back(name);
  std::ranges::sort(files);
  for (const char* name : {"view.html", "evaluation.json", "evaluation-before.json", "interventions.json",
                           "failure.txt", "birth", "metrics.jsonl", "checkpoint.h5", "config.toml"})
    if (fs::exists(folder + "/" + name)) files.emplace_back(name);
  return files;
}

void move_run(const std::string& from, const std::string& to) {
  for (const std::string& name : files_of_run(from)) {
    const std::string file = from + "/" + name, place = to + "/" + name;
    if (::rename(file.c_str(), place.c_str()) != 0) fail_io("move", file, errno);
  }
  sync_folder(to + "/config.toml");  // in this order: a power loss leaves a file in both folders, not in neither
  sync_folder(from + "/config.toml");
}

bool holds_older_run(const RunFolder& folder) { return fs::exists(folder.replaced() + "/config.toml"); }

// What a process that was killed while it replaced a run left to do.
void finish_replacing(RunFolder& folder) {
  if (!fs::is_directory(folder.replaced())) return;
  if (!holds_older_run(folder)) {
    move_run(folder.replaced(), folder.path);
    std::error_code ignored;  // it may hold what is not ours
    fs::remove(folder.replaced(), ignored);
  } else if (fs::exists(folder.checkpoint())) {
    folder.drop_older_run();
  } else {
    folder.notes.push_back("an older run is kept in " + folder.replaced() +
                           " until the one that replaces it has its first checkpoint; to have it back instead, move "
                           "its files to " +
                           folder.path);
  }
}

// For a run that continues: its files are read, and the new ones are written in their place.
void require_regular_files(const std::string& folder) {
  for (const std::string& name : files_of_run(folder)) {
    const std::string path = folder + "/" + name;
    if (!fs::is_directory(path)) require_regular_file(path);
    if (name == "birth" && fs::is_directory(path))
      for (const auto& entry : fs::directory_iterator(path)) require_regular_file(entry.path());
  }
}

bool is_run(const RunFolder& folder) { return fs::exists(folder.config()) || holds_older_run(folder); }

[[noreturn]] void refuse_occupied(const RunFolder& folder) {
  throw Error(folder.path + " already holds files; --resume auto continues that run, --force replaces it" +
                  (folder.notes.empty() ? "" : " (" + folder.notes.back() + ")"),
              Exit::usage);
}

bool lies_in(const std::string& file, const std::string& folder) {
  std::error_code error;
  return fs::equivalent(fs::path(file).parent_path().empty() ? "." : fs::path(file).parent_path(), folder, error);
}

}  // namespace

void RunFolder::set_aside_older_run() {
  if (!sets_aside) return;
  std::error_code error;
  fs::create_directory(replaced(), error);
  if (error) fail_io("make the folder", replaced(), error.value());
  move_run(path, replaced());
  sets_aside = false;
}

void RunFolder::drop_older_run() const {
  if (!holds_older_run(*this)) return;
  for (const std::string& name : files_of_run(replaced())) {
    std::error_code error;
    fs::remove_all(replaced() + "/" + name, error);
    if (error) fail_io("remove", replaced() + "/" + name, error.value());
  }
  std::error_code ignored;
  fs::remove(replaced(), ignored);
}

RunFolder open_run_folder(const RunConfig& config) {
  RunFolder folder;
  folder.path = config.run;
  while (folder.path.size() > 1 && folder.path.back() == '/') folder.path.pop_back();
  if (fs::exists(folder.path) && !fs::is_directory(folder.path)) {
    throw Error(folder.path + " is a file; --run needs a folder", Exit::usage);
  }
  bool resumes_path = config.resume != "never" && config.resume != "auto";
  if (resumes_path && !fs::is_regular_file(config.resume))
    throw Error("--resume: there is no checkpoint " + config.resume + "; give runs/NAME/checkpoint.h5 or auto",
                Exit::bad_input);
  make_folders(folder.path);
  if (::access(folder.path.c_str(), W_OK | X_OK) != 0) fail_io("write into", folder.path, errno);
  folder.lock = FolderLock(folder.path);  // what is found from here on stays as it is found

  finish_replacing(folder);
  if (config.resume != "never") require_regular_files(folder.path);
  if (resumes_path) folder.resume_from = config.resume;
  if (config.resume == "auto") {
    if (fs::exists(folder.checkpoint())) {
      folder.resume_from = folder.checkpoint();
    } else if (fs::exists(folder.evaluation())) {
      throw Error(folder.path +
                      " holds evaluation.json of a run that has ended, but no checkpoint.h5 to resume from; "
                      "put that back, choose another --run, or begin again with --force instead of --resume",
                  Exit::usage);
    } else if (!is_free(folder.path) && !is_run(folder)) {
      throw Error(folder.path + " holds files but no run to resume; choose another --run", Exit::usage);
    }
  } else if (!is_free(folder.path) && !(resumes_path && lies_in(folder.resume_from, folder.path))) {
    if (!config.force) refuse_occupied(folder);
    if (!is_run(folder)) {
      throw Error(
          folder.path + " is not a run folder (it has no config.toml); --force leaves it alone, choose another --run",
          Exit::usage);
    }
    // Of two runs that never had a checkpoint, and one that had, the one that had is kept.
    folder.sets_aside = !holds_older_run(folder);
    if (folder.sets_aside)
      folder.notes.push_back("the older run is kept in " + folder.replaced() +
                             " until this one has its first checkpoint");
  }
  return folder;
}

}  // namespace sink
