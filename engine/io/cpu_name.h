// What processor this is.
#pragma once

#include <string>

namespace sink {

// As the system calls it, "AMD EPYC 9254 24-Core Processor"; empty where it does not say.
std::string cpu_name();

}  // namespace sink
