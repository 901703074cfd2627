#include "tools/report/page_views.h"

#include <filesystem>
#include <system_error>

#include "engine/io/file.h"
#include "eval/attention/view_page.h"
#include "tools/report/html_text.h"

namespace sink::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOutdated =
    ": of an earlier step than the checkpoint (<code>sinklab view RUN</code> draws it again)";

// Training continued after the page was drawn.
bool is_outdated(const fs::path& page) {
  std::error_code no_page, no_checkpoint;
  const auto drawn = fs::last_write_time(page, no_page);
  const auto trained = fs::last_write_time(page.parent_path() / "checkpoint.h5", no_checkpoint);
  return !no_page && !no_checkpoint && drawn < trained;
}

}  // namespace

std::string views(const std::vector<Run>& runs, std::size_t bytes) {
  std::string frames;
  for (const Run& run : runs) {
    const std::string path = (fs::path(run.folder) / kRunViewPage).string();
    if (!fs::is_regular_file(path) || !view_page_kind().recognises(path)) continue;
    const std::string name = escape(run.name);
    if (const std::uintmax_t size = fs::file_size(path); size > bytes) {
      frames += "<p>" + name + ": see <code>" + escape(path) + "</code>, which is too large for this page.</p>";
      continue;
    } else {
      bytes -= size;
    }
    frames += "<details class=\"config\"><summary><b>" + name + "</b>" + (is_outdated(path) ? kOutdated : "") +
              "</summary><iframe class=\"view\" title=\"All heads of " + name +
              "\" sandbox=\"allow-scripts\" loading=\"lazy\" srcdoc=\"" + escape(read_file("page_views", path)) +
              "\"></iframe></details>";
  }
  return frames.empty() ? "" : fill(page_file("views.html"), {{"frames", frames}});
}

}  // namespace sink::report
