#include "model/build_info.h"

#include <cstdio>
#include <filesystem>

namespace sink {
namespace {

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string ask_git() {
  std::string folder = std::filesystem::path(__FILE__).parent_path().string();
  if (!std::filesystem::path(folder).is_absolute() || !std::filesystem::is_directory(folder)) return "unknown";
  std::string command =
      "git -C " + quoted_for_shell(folder) + " describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return "unknown";
  char line[128] = "";
  bool answered = std::fgets(line, sizeof(line), pipe) != nullptr;
  bool succeeded = ::pclose(pipe) == 0;
  std::string commit = line;
  while (!commit.empty() && commit.back() == '\n') commit.pop_back();
  return answered && succeeded && !commit.empty() ? commit : "unknown";
}

}  // namespace

const std::string& build_commit() {
  static const std::string commit = ask_git();
  return commit;
}

}  // namespace sink
