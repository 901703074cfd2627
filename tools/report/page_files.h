// The files of tools/report/page, and the recipes of planned_steps.h, as they were when the program was built.
#pragma once

#include <string>

namespace sink::report {

// By name ("style.css"). Throws Error when there is none.
std::string page_file(const std::string& name);

}  // namespace sink::report
