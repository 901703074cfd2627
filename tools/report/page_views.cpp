#include "tools/report/page_views.h"

#include <filesystem>

#include "engine/io/file.h"
#include "eval/attention/view_page.h"
#include "tools/report/html_text.h"

namespace sink::report {

std::string views(const std::vector<Run>& runs, std::size_t bytes) {
  std::string frames;
  for (const Run& run : runs) {
    const std::string path = (std::filesystem::path(run.folder) / kRunViewPage).string();
    if (!std::filesystem::is_regular_file(path) || !view_page_kind().recognises(path)) continue;
    const std::string name = escape(run.name);
    if (const std::uintmax_t size = std::filesystem::file_size(path); size > bytes) {
      frames += "<p>" + name + ": see <code>" + escape(path) + "</code>, which is too large for this page.</p>";
      continue;
    } else {
      bytes -= size;
    }
    frames += "<details class=\"config\"><summary><b>" + name +
              "</b></summary><iframe class=\"view\" title=\"All heads of " + name +
              "\" sandbox=\"allow-scripts\" loading=\"lazy\" srcdoc=\"" + escape(read_file("page_views", path)) +
              "\"></iframe></details>";
  }
  return frames.empty() ? "" : fill(page_file("views.html"), {{"frames", frames}});
}

}  // namespace sink::report
