#include "tools/report/chart_js.h"

#include <filesystem>
#include <vector>

#include "engine/check.h"
#include "engine/io/file.h"

namespace sink::report {

std::string read_chart_js(const std::string& given) {
  const std::string folder = "/usr/share/javascript/chart.js/";
  std::vector<std::string> places = {folder + "chart.min.js", folder + "Chart.min.js", folder + "chart.js",
                                     "/usr/share/nodejs/chart.js/dist/chart.min.js"};
  if (!given.empty()) places = {given};
  for (const std::string& place : places) {
    if (!std::filesystem::is_regular_file(place)) continue;
    std::string script = read_file("chart_js", place);
    if (script.find("</script") != std::string::npos || script.find("Chart") == std::string::npos)
      fail("chart_js", place + " is not a Chart.js that can stand inside a page", Exit::bad_input);
    return script;
  }
  fail("chart_js",
       (given.empty() ? "found no Chart.js in " + folder : "no such file: " + given) +
           "; install the package libjs-chart.js or give --chart-js FILE",
       Exit::bad_input);
}

}  // namespace sink::report
