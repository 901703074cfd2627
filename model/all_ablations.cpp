#include "model/all_ablations.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace sink {
namespace {

constexpr const char* kBuildAgain = "cmake --build --preset release --target ablations sweep";

}  // namespace

const Ablation& ablation_named(const std::string& name) {
  std::string near;
  for (const Ablation& ablation : all_ablations()) {
    if (ablation.name == name) return ablation;
    if (ablation.name.find(name) != std::string::npos || name.find(ablation.name) != std::string::npos)
      near += (near.empty() ? "" : ", ") + ablation.name;
  }
  fail("ablation",
       "`" + name + "` is not known to this build, which has " + std::to_string(all_ablations().size()) + " ablations" +
           (near.empty() ? " (the program `ablations` lists them)" : "; did you mean one of " + near + "?") +
           "; if it was just added to model/ablations.h: " + kBuildAgain + ", or for Python: pip install .",
       Exit::usage);
}

std::string note_of_unbuilt_ablations(const std::string& list_file) {
  const std::vector<Ablation>& built = all_ablations();
  std::ifstream lines(list_file);
  std::string unbuilt;
  for (std::string name; std::getline(lines, name);)
    if (std::none_of(built.begin(), built.end(), [&](const Ablation& ablation) { return ablation.name == name; }))
      unbuilt += (unbuilt.empty() ? "" : ", ") + name;
  if (unbuilt.empty()) return "";
  const char* were_added = unbuilt.find(", ") == std::string::npos ? " was added: " : " were added: ";
  return "note: this program was built before " + unbuilt + were_added + kBuildAgain;
}

std::string note_of_unbuilt_ablations() {
  std::error_code ignored;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return note_of_unbuilt_ablations((program.parent_path() / "generated/ablations/names.txt").string());
}

}  // namespace sink
