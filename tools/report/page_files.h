// The files of tools/report/page as they were when the program was built: markup, style and scripts of the page.
#pragma once

#include <string>

namespace sink::report {

// By name ("style.css"). Throws Error when there is none.
std::string page_file(const std::string& name);

}  // namespace sink::report
