// Chart.js, which draws the page's charts and comes with the system.
#pragma once

#include <string>

namespace sink::report {

// The script where distributions put it; the file `given` wins. Throws Error (Exit::bad_input) where there is none or
// it cannot stand inside a page.
std::string read_chart_js(const std::string& given = {});

}  // namespace sink::report
