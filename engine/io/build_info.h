// The sources this program was built from, how it was built, and the processor it runs on.
#pragma once

#include <string>

namespace sink {

// The commit of the sources at the last build, with "-dirty" after it when they differed from the commit; "unknown"
// without git.
const std::string& build_commit();

// The version of CMakeLists.txt, such as "0.1.0".
std::string build_version();

// The lines of --version: the version, then the commit, the build and the libraries.
std::string build_description();

// As in /proc/cpuinfo: "AMD EPYC 9254 24-Core Processor"; empty where it is not known.
std::string cpu_name();

}  // namespace sink
