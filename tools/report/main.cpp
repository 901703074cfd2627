// report: makes one self-contained HTML page, and results.csv, of run folders.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/file.h"
#include "engine/printable.h"
#include "tools/report/page.h"
#include "tools/report/results_csv.h"
#include "tools/report/results_table.h"
#include "tools/report/run_reader.h"

namespace {

using sink::Exit;

struct Arguments {
  std::string out;
  std::string csv;
  std::string title = "Attention sinks: what these runs show";
  std::string chart_js;
  std::vector<std::string> folders;
};

// The script where distributions put it; `given` wins.
std::string read_chart_js(const std::string& given) {
  const std::string folder = "/usr/share/javascript/chart.js/";
  std::vector<std::string> places = {folder + "chart.min.js", folder + "Chart.min.js", folder + "chart.js",
                                     "/usr/share/nodejs/chart.js/dist/chart.min.js"};
  if (!given.empty()) places = {given};
  for (const std::string& place : places) {
    if (!std::filesystem::is_regular_file(place)) continue;
    std::string script = sink::read_file("chart_js", place);
    if (script.find("</script") != std::string::npos || script.find("Chart") == std::string::npos)
      sink::fail("chart_js", place + " is not a Chart.js that can stand inside a page", Exit::bad_input);
    return script;
  }
  sink::fail("chart_js",
             (given.empty() ? "found no Chart.js in " + folder : "no such file: " + given) +
                 "; install the package libjs-chart.js or give --chart-js FILE",
             Exit::bad_input);
}

// Makes missing folders.
void write(const std::string& path, const std::string& bytes) {
  std::error_code ignored;  // what matters is whether the file can be written
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path(), ignored);
  sink::write_file_atomically(path, bytes);
}

void make_report(const Arguments& arguments) {
  std::vector<sink::report::Run> runs;
  std::set<std::string> names;
  for (const std::string& folder : arguments.folders) {
    runs.push_back(sink::report::read_run_folder(folder));
    const std::string name = runs.back().name;
    for (int copy = 2; !names.insert(runs.back().name).second; ++copy)
      runs.back().name = name + " (" + std::to_string(copy) + ")";
  }
  const std::string html = sink::report::page(runs, arguments.title, read_chart_js(arguments.chart_js));
  write(arguments.out, html);
  if (!arguments.csv.empty()) write(arguments.csv, sink::report::results_csv(runs));

  std::fputs(sink::report::results_table(runs).c_str(), stdout);
  std::fflush(stdout);
  std::fprintf(stderr, "report: %s, %zu %s, %.2f MB\n", sink::printable(arguments.out).c_str(), runs.size(),
               runs.size() == 1 ? "run" : "runs", static_cast<double>(html.size()) / 1e6);
  if (html.size() > 5000000) std::fprintf(stderr, "report: warning: over 5 MB; give fewer run folders\n");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Makes one self-contained HTML page of run folders, readable without a network.", "report");
  app.add_option("--out,-o", arguments.out, "the HTML file to write, e.g. runs/quickstart/report.html")->required();
  app.add_option("--csv", arguments.csv, "also write the final numbers of every run to this file");
  app.add_option("--title", arguments.title, "heading of the page")->capture_default_str();
  app.add_option("--chart-js", arguments.chart_js, "Chart.js to put into the page; found by itself on Debian");
  app.add_option("RUN_FOLDER", arguments.folders, "folders with config.toml, metrics.jsonl, evaluation.json")
      ->required();
  try {
    app.parse(argc, argv);
    make_report(arguments);
    return static_cast<int>(Exit::ok);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "report: error: %s; see --help\n", sink::printable(error.what()).c_str());
    return static_cast<int>(Exit::usage);
  } catch (const sink::Error& error) {
    std::fprintf(stderr, "report: error: %s\n", sink::printable(error.what()).c_str());
    return static_cast<int>(error.code);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "report: error: %s\n", sink::printable(error.what()).c_str());
    return static_cast<int>(Exit::failure);
  }
}
