#include "engine/io/build_info.h"

#include <H5public.h>
#include <openssl/crypto.h>
#include <sys/utsname.h>

#include <CLI/Version.hpp>
#include <fstream>

namespace sink {
namespace {

constexpr const char* version_and_build[] = {
#include "build_text.inc"  // written by CMakeLists.txt
};

}  // namespace

const std::string& build_commit() {
  static const std::string commit =
#include "build_commit.inc"  // written by tools/build_commit.cmake
      ;
  return commit;
}

std::string build_version() { return version_and_build[0]; }

std::string build_description() {
  return build_version() + "\ncommit: " + build_commit() + "\nbuild: " + version_and_build[1] + "\nlibraries: HDF5 " +
         std::to_string(H5_VERS_MAJOR) + "." + std::to_string(H5_VERS_MINOR) + "." + std::to_string(H5_VERS_RELEASE) +
         ", " + OpenSSL_version(OPENSSL_VERSION) + ", CLI11 " + CLI11_VERSION;
}

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};  // on aarch64 the file has no model name
  return ::uname(&system) == 0 ? system.machine : "";
}

}  // namespace sink
