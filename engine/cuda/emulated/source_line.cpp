#include "engine/cuda/emulated/source_line.h"

#include <dlfcn.h>

#include <cstdio>

namespace sink::emulated {
namespace {

std::string first_line_of(const std::string& command) {
  std::string line;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char buffer[4096];
    if (std::fgets(buffer, sizeof buffer, pipe)) line = buffer;
    pclose(pipe);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  return line;
}

std::size_t offset_of(const Dl_info& info, const void* instruction) {
  return static_cast<std::size_t>(static_cast<const char*>(instruction) - static_cast<const char*>(info.dli_fbase));
}

std::string addr2line(const char* options, const Dl_info& info, const void* instruction) {
  char text[512];
  std::snprintf(text, sizeof text, "addr2line %s -e '%s' 0x%zx 2>/dev/null", options, info.dli_fname,
                offset_of(info, instruction));
  return first_line_of(text);
}

}  // namespace

std::string path_in_repository(const std::string& path) {
  for (const char* folder : {"/tests/", "/engine/", "/tools/"})
    if (std::size_t at = path.rfind(folder); at != std::string::npos) return path.substr(at + 1);
  return path;
}

std::string function_name(const void* instruction) {
  Dl_info info{};
  if (!dladdr(instruction, &info) || !info.dli_fname) return "?";
  return addr2line("-f -C", info, instruction);
}

std::string source_line(const void* instruction) {
  Dl_info info{};
  char text[512];
  if (!dladdr(instruction, &info) || !info.dli_fname) {
    std::snprintf(text, sizeof text, "%p", instruction);
    return text;
  }
  std::string line = addr2line("", info, instruction);
  line = line.substr(0, line.find(" ("));  // without "(discriminator 2)"
  if (!line.empty() && line[0] != '?' && !line.ends_with(":?") && !line.ends_with(":0")) {
    return path_in_repository(line);
  }
  if (info.dli_sname) return info.dli_sname;
  std::snprintf(text, sizeof text, "%s+0x%zx", info.dli_fname, offset_of(info, instruction));
  return text;
}

}  // namespace sink::emulated
