#include "tools/sweep/study_list.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "tools/sweep/study_file.h"

namespace sink {

int list_studies(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder))
    throw Error("give a study, a TOML file; there is no folder " + folder + " here whose studies could be listed",
                Exit::usage);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const StudyFile study = read_study_file(file);
    std::printf("%s\n  %s\n  paper: %s; %s\n", printable(file).c_str(), printable(study.question).c_str(),
                study.section.empty() ? "-" : printable(study.section).c_str(),
                study.cpu_hours.empty()
                    ? "how long it takes: --dry-run"
                    : ("about " + printable(study.cpu_hours) + " core-hours at --size cpu").c_str());
  }
  std::printf("\nsweep STUDY.toml runs one; --dry-run says what it would do and how long that takes here.\n");
  return 0;
}

}  // namespace sink
