// report: makes one self-contained HTML page, and results.csv, of runs and measurements; once or repeatedly.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "engine/check.h"
#include "engine/io/command_line.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "tools/report/page.h"
#include "tools/report/results_csv.h"

namespace sink::report {
namespace {

struct Arguments {
  std::string out;
  std::string csv;
  std::string title = "Attention sinks: what these runs show";
  std::string chart_js;
  std::string follow;  // seconds between two reads, "true" for the default; empty: once
  std::vector<std::string> sources;
  bool force = false;
};

// Older pages have no generator.
bool is_report(const std::string& path) {
  return kind_by_text("", "<!doctype html>", {"content=\"Sinklab report\""}).recognises(path) ||
         kind_by_text("", "<!doctype html>", {"<html lang=\"en\" data-theme=\"light\">"}).recognises(path);
}

// report.html in the given folder, or in the nearest common folder of several paths.
std::string default_page(const std::vector<std::string>& paths) {
  const auto folder_of = [](const std::string& path) {
    std::filesystem::path normal = std::filesystem::absolute(path).lexically_normal();
    if (normal.filename().empty()) normal = normal.parent_path();
    return std::filesystem::is_directory(normal) ? normal : normal.parent_path();
  };
  std::filesystem::path common = folder_of(paths.front());
  for (const std::string& path : paths) {
    const std::filesystem::path folder = folder_of(path);
    const auto end = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first;
    std::filesystem::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  const std::filesystem::path shorter = common.lexically_relative(std::filesystem::current_path());
  const bool below = !shorter.empty() && *shorter.begin() != "..";
  return ((below ? shorter : common) / "report.html").lexically_normal().string();
}

// Without paths that are given twice, also by another spelling.
std::vector<std::string> distinct(const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> seen;
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error || seen.insert(real).second) out.push_back(path);
  }
  return out;
}

// `path`, or results.csv in the folder `path`.
std::string table_at(const std::string& path) {
  const bool is_folder = path.ends_with('/') || std::filesystem::is_directory(path);
  return is_folder ? (std::filesystem::path(path) / "results.csv").string() : path;
}

// Creates missing folders.
void prepare_output(const std::string& path, const OutputKind& kind, bool force) {
  make_folders(std::filesystem::absolute(path).parent_path().string());
  require_output(path, kind, force);
}

// Checked before any work, which may take long.
void require_outputs(const Arguments& arguments) {
  require_two_files({"--out", arguments.out}, {"--csv", arguments.csv});
  prepare_output(arguments.out, {"a page of `report`", is_report}, arguments.force);
  if (!arguments.csv.empty())
    prepare_output(arguments.csv, kind_by_text("a table of `report`", "run,", {"sink_1"}), arguments.force);
}

void write_report(const Arguments& arguments, const std::vector<Run>& runs, const std::string& chart_js, int reload) {
  const std::string html = page(runs, arguments.title, chart_js, reload);
  write_file_atomically(arguments.out, html);
  if (!arguments.csv.empty()) write_file_atomically(arguments.csv, results_csv(runs));
  const auto open = std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !run.finished; });
  std::fprintf(stderr, "report: %s, %zu %s%s, %.2f MB\n", printable(arguments.out).c_str(), runs.size(),
               runs.size() == 1 ? "run" : "runs",
               open > 0 ? (", " + std::to_string(open) + " not finished").c_str() : "",
               static_cast<double>(html.size()) / 1e6);
  if (html.size() > 5000000) std::fprintf(stderr, "report: warning: over 5 MB; give fewer run folders\n");
}

std::atomic<int> stopped_by{0};
void stop(int signal) { stopped_by = signal; }

// 0 without --follow.
int seconds_of(const std::string& follow) {
  if (follow.empty()) return 0;
  if (follow == "true") return 10;
  const std::optional<int> seconds = parse_number<int>(follow);
  if (!seconds || *seconds < 1 || *seconds > 86400)
    throw Error("--follow takes whole seconds from 1 to 86400, as in --follow=30; got `" + follow + "`", Exit::usage);
  return *seconds;
}

// The progress of each run.
std::vector<std::string> state_of(const std::vector<Run>& runs) {
  std::vector<std::string> state;
  for (const Run& run : runs)
    state.push_back(run.folder + " " + std::to_string(run.step) + (run.finished ? " finished" : " " + run.failure));
  return state;
}

void wait(int seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  while (!stopped_by && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

// Rewrites the report whenever a run has progressed, until all have finished or failed and another read finds no new
// one; the last page does not reload itself. Returns the exit code.
int follow(const Arguments& arguments, const std::string& chart_js, std::vector<Run>& runs, int seconds) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, stop);
  std::vector<std::string> written;
  for (;;) {
    const std::vector<std::string> state = state_of(runs);
    const bool all_ended = std::none_of(runs.begin(), runs.end(), [](const Run& run) { return run.in_progress(); });
    if (state == written && all_ended) break;
    if (state != written) write_report(arguments, runs, chart_js, seconds);
    written = state;
    wait(seconds);
    if (stopped_by) break;
    try {
      runs = read_runs(arguments.sources);
    } catch (const Error& error) {  // for example of a run that is being replaced
      std::fprintf(stderr, "report: warning: %s; the page is unchanged\n", printable(error.what()).c_str());
    }
  }
  write_report(arguments, runs, chart_js, 0);
  return stopped_by ? 128 + stopped_by : 0;
}

int make_report(Arguments arguments) {
  const int seconds = seconds_of(arguments.follow);
  const std::string chart_js = read_chart_js(arguments.chart_js);
  std::vector<Run> runs = read_runs(arguments.sources);
  if (arguments.out.empty()) arguments.out = default_page(arguments.sources);
  arguments.csv = table_at(arguments.csv);
  require_outputs(arguments);
  int code = 0;
  if (seconds > 0)
    code = follow(arguments, chart_js, runs, seconds);
  else
    write_report(arguments, runs, chart_js, 0);
  std::fputs(results_table(runs).c_str(), stdout);
  return code;
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option(
      "--out,-o", arguments.out,
      "HTML file to write [report.html in the one folder given, else in the nearest folder that holds everything "
      "given]");
  app.add_option(
      "--csv", arguments.csv,
      "also write results and settings as CSV; into this file, or as results.csv into a folder (an existing one, or "
      "PATH/)");
  app.add_flag("--force", arguments.force, "replace files that `report` did not make");
  app.add_option("--title", arguments.title, "heading of the page")->capture_default_str();
  app.add_option("--chart-js", arguments.chart_js, "Chart.js to embed [that of the Debian package libjs-chart.js]");
  // A flag with an optional `=value`, because `--follow runs/first` names a run.
  app.add_flag("--follow", arguments.follow,
               "rewrite the page as the runs progress; every 10 seconds or as many as given; the page reloads itself. "
               "Ends when all runs have finished or failed and no new one has begun, or with Ctrl-C")
      ->option_text("[=SECONDS]");
  app.add_option("RUN", arguments.sources, "runs, folders of runs, JSON of eval_* sink")->required();
  app.footer(
      "Examples:\n  report runs/quickstart          all runs in the folder; writes its report.html\n"
      "  report --follow runs/first      while the run trains\n"
      "  report random.json repeated.json runs/first   inputs side by side\n\n"
      "The page of a folder of runs shows seeds as one line with a band, a filter (learning-rate=0.01 ablation~op_), "
      "groupings, two runs side by side, CSV of every figure, and the page of `sinklab view RUN` of runs that have "
      "one.\n\n"
      "A study in pandas, after `report runs/study --csv study.csv`:\n"
      "  import pathlib, pandas as pd\n"
      "  runs = pd.read_csv(\"study.csv\")  # a row per run: measurements and settings\n"
      "  files = sorted(pathlib.Path(\"runs/study\").glob(\"*/metrics.jsonl\"))\n"
      "  read = lambda f: pd.read_json(f, lines=True).assign(run=f.parent.name)\n"
      "  steps = pd.concat(map(read, files))  # a row per step\n"
      "  groups = runs.groupby([\"ablation\", \"learning_rate\"])[[\"val_loss\", \"sink_1\"]]\n"
      "  print(groups.agg([\"mean\", \"min\", \"max\"]))\n\n"
      "Only runs that differ in nothing but their seed are averaged; others are labelled by their settings.\n"
      "Exit codes: 0 done, 2 usage, 3 bad input, 8 disk, 128 + n stopped by signal n.");
}

}  // namespace
}  // namespace sink::report

int main(int argc, char** argv) {
  return sink::run_program("report", [&] {
    sink::report::Arguments arguments;
    CLI::App app("Makes one self-contained HTML page of runs, which needs no network, and prints their results.",
                 "report");
    sink::report::add_options(app, arguments);
    if (!sink::parse_command_line(app, argc, argv)) return 0;
    arguments.sources = sink::report::distinct(arguments.sources);
    return sink::report::make_report(arguments);
  });
}
