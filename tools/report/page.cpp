#include "tools/report/page.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "engine/check.h"
#include "engine/io/file.h"
#include "eval/attention/view_page.h"
#include "tools/report/html_text.h"
#include "tools/report/page_data.h"
#include "tools/report/page_tables.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

constexpr std::size_t kMinRunsForFilter = 5;
constexpr std::size_t kViewBytes = 4'000'000;  // of the pages of `sinklab view`

std::string task_title(const TaskRuns& task) { return escape(task_name(task.name)); }

bool trained_here(const TaskRuns& task) { return std::ranges::any_of(task.runs, &Run::trained_here); }

// What the task is, as a tooltip.
std::string about_task(const TaskRuns& task) {
  if (!trained_here(task) || (task.name != "text" && task.name != "bigram-backcopy")) return "";
  return " " + term(task.name.c_str(), "what is that?");
}

std::string values_note(const TaskRuns& task) {
  std::string note = "Sinks in percent of heads; max: proxy &alpha;<sub>1</sub> of the strongest head; " +
                     term("v_1", "v<sub>1</sub> ratio");
  if (std::ranges::any_of(task.runs, [](const Run* run) { return loss_floor(*run).has_value(); }))
    note += "; above best: nats above the best possible predictor on the same sequences";
  const std::string common = common_settings(task);
  return note + (common.empty() ? "." : "; " + common + ".");
}

// The paper's values on each kind of input, with a mark where some run has the same kind.
std::string paper_table(const TaskRuns& task) {
  std::string rows;
  const std::pair<const char*, const char*> shown[] = {{"base-60m", "softmax"},
                                                       {"data-fix1", "softmax"},
                                                       {"op-sigmoid-none", "sigmoid, no normalisation"},
                                                       {"op-sigmoid-norm", "sigmoid, normalised"}};
  for (const auto& [id, name] : shown) {
    const PaperRow& row = *std::ranges::find(paper_rows(), id, &PaperRow::id);
    const InputKind input = input_kind_of(row);
    const bool ours = std::ranges::any_of(task.runs, [&](const Run* run) { return input_kind_of(*run) == input; });
    const bool proxy = row.sink_1.ends_with('*');
    rows += std::string("<tr><th scope=\"row\" class=\"word\">") + name + ", " + escape(describe(input)) + "</th><td>" +
            (proxy ? row.sink_1.substr(0, row.sink_1.size() - 1) + " (proxy)" : row.sink_1) + "</td><td>" + row.valid +
            "</td><td class=\"word\">" + (ours ? "these runs\u2019" : "other input") + "</td></tr>";
  }
  return fill(page_file("paper.html"), {{"rows", rows}});
}

std::string task_section(const TaskRuns& task, std::size_t index, const std::vector<Run>& runs,
                         const std::vector<LineStyle>& styles) {
  return fill(page_file("task.html"), {{"index", std::to_string(index)},
                                       {"task", task_title(task)},
                                       {"about", about_task(task)},
                                       {"headline", headline(task)},
                                       {"note", headline_note(task)},
                                       {"values_note", values_note(task)},
                                       {"values", final_table(task, runs, styles)},
                                       {"inputs", inputs_table(task.runs)},
                                       {"paper", task.name == "text" && trained_here(task) ? paper_table(task) : ""}});
}

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

// A section with the page view.html of each run folder that has one, as `sinklab view RUN` writes it; empty if there is
// none. A page is a separate frame, without access to the report. At most `bytes` of pages are taken, in the order of
// the runs; the others are named.
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

}  // namespace

std::string read_chart_js(const std::string& given) {
  const std::string folder = "/usr/share/javascript/chart.js/";
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  std::vector<std::string> places = {program.parent_path() / "chart.min.js",  // a wheel has it there
                                     folder + "chart.min.js", folder + "Chart.min.js", folder + "chart.js",
                                     "/usr/share/nodejs/chart.js/dist/chart.min.js"};
  if (!given.empty()) places = {given};
  for (const std::string& place : places) {
    if (!fs::is_regular_file(place)) continue;
    std::string script = read_file("chart_js", place);
    if (script.find("</script") != std::string::npos || script.find("Chart") == std::string::npos)
      fail("chart_js", place + " is not a Chart.js that can be embedded in a page", Exit::bad_input);
    return script;
  }
  fail("chart_js",
       (given.empty() ? "found no Chart.js in " + folder : "no such file: " + given) +
           "; install the package libjs-chart.js or give --chart-js FILE",
       Exit::bad_input);
}

std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js,
                 int reload_seconds) {
  const std::vector<TaskRuns> tasks = group_by_task(runs);
  const std::vector<LineStyle> styles = line_styles(runs, tasks);
  std::string sections, navigation;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    sections += task_section(tasks[i], i, runs, styles);
    navigation += "<a href=\"#task-" + std::to_string(i) + "\">" + task_title(tasks[i]) + "</a>";
  }
  const auto open = std::ranges::count_if(runs, &Run::in_progress);
  const auto failed = std::ranges::count_if(runs, [](const Run& run) { return !run.finished && !run.in_progress(); });
  const std::string overview = std::to_string(runs.size()) + (runs.size() == 1 ? " run" : " runs") + " on " +
                               std::to_string(tasks.size()) + (tasks.size() == 1 ? " task" : " tasks") +
                               (open > 0 ? ", " + std::to_string(open) + " still in progress" : "") +
                               (failed > 0 ? ", " + std::to_string(failed) + " failed" : "") + ".";
  const std::string reload =
      reload_seconds > 0 ? "<meta http-equiv=\"refresh\" content=\"" + std::to_string(reload_seconds) + "\">\n" : "";
  std::string scripts = "<script>" + chart_js + "</script>\n";
  for (const char* name : {"base", "lines", "svg", "figures", "chart_parts", "chart_zoom", "charts", "weight_colours",
                           "attention_pattern", "grid", "tooltip", "maps", "pair"})
    scripts += "<script>" + page_file(std::string(name) + ".js") + "</script>\n";
  return fill(page_file("page.html"), {{"title", escape(title)},
                                       {"reload", reload},
                                       {"style", page_file("style.css")},
                                       {"theme_script", page_file("theme.js")},
                                       {"overview", overview},
                                       {"navigation", tasks.size() > 1 ? navigation : ""},
                                       {"no_filter", runs.size() < kMinRunsForFilter ? " hidden" : ""},
                                       {"groups", sections + (runs.size() > 1 ? page_file("pair.html") : "")},
                                       {"views", views(runs, kViewBytes)},
                                       {"configurations", configurations(runs, styles)},
                                       {"data", page_json(runs, tasks)},
                                       {"scripts", scripts}});
}

}  // namespace sink::report
