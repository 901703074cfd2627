#include "tools/report/sources.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "engine/check.h"

namespace sink::report {
namespace {

namespace fs = std::filesystem;

// The run folders right inside a folder, by name.
std::vector<std::string> runs_inside(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) fail("report", "cannot read the folder " + folder + ": " + error.message(), Exit::bad_input);
  for (const auto& entry : entries)
    if (entry.is_directory(error) && is_run_folder(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// A run, and where it started from a checkpoint, what was measured of that: two lines to compare.
void read_folder_into(const std::string& folder, std::vector<Run>& runs) {
  const std::string before = folder + "/evaluation-before.json";
  if (fs::exists(before)) std::ranges::move(read_measurements(before), std::back_inserter(runs));
  runs.push_back(read_run_folder(folder));
}

void read_into(const std::string& path, std::vector<Run>& runs) {
  if (fs::is_regular_file(path)) {
    std::ranges::move(read_measurements(path), std::back_inserter(runs));
    return;
  }
  if (!fs::exists(path)) fail("report", "there is no " + path, Exit::bad_input);
  if (!fs::is_directory(path)) fail("report", path + " is neither a folder nor a file", Exit::bad_input);
  if (is_run_folder(path)) {
    read_folder_into(path, runs);
    return;
  }
  const std::vector<std::string> inside = runs_inside(path);
  if (inside.empty())
    fail("report",
         path +
             " is not a run folder and holds none: expected evaluation.json, or config.toml and metrics.jsonl of a "
             "run in progress, in it or in its own folders",
         Exit::bad_input);
  for (const std::string& folder : inside) read_folder_into(folder, runs);
}

}  // namespace

std::vector<Run> read_runs(const std::vector<std::string>& paths) {
  std::vector<Run> runs;
  for (const std::string& path : paths) read_into(path, runs);
  std::map<std::string, int> times;
  for (const Run& run : runs) ++times[run.name];
  std::set<std::string> names;
  for (Run& run : runs) {
    if (times[run.name] > 1) run.name += " (" + run.folder + ")";
    const std::string name = run.name;
    for (int copy = 2; !names.insert(run.name).second; ++copy) run.name = name + " (" + std::to_string(copy) + ")";
  }
  return runs;
}

std::string default_page(const std::vector<std::string>& paths) {
  const auto folder_of = [](const std::string& path) {
    fs::path normal = fs::absolute(path).lexically_normal();
    if (normal.filename().empty()) normal = normal.parent_path();
    return fs::is_directory(normal) ? normal : normal.parent_path();
  };
  fs::path common = folder_of(paths.front());
  for (const std::string& path : paths) {
    const fs::path folder = folder_of(path);
    const auto end = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first;
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  const fs::path shorter = common.lexically_relative(fs::current_path());
  const bool below = !shorter.empty() && *shorter.begin() != "..";
  return ((below ? shorter : common) / "report.html").lexically_normal().string();
}

}  // namespace sink::report
