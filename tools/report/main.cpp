// report: makes one self-contained HTML page, and results.csv, of runs and measurements; once, or as the runs go on.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "tools/report/chart_js.h"
#include "tools/report/page.h"
#include "tools/report/plot_csv.h"
#include "tools/report/results_csv.h"
#include "tools/report/results_table.h"
#include "tools/report/sources.h"

namespace sink::report {
namespace {

struct Arguments {
  std::string out;
  std::string csv;
  std::string title = "Attention sinks: what these runs show";
  std::string chart_js;
  std::string follow;  // seconds between two looks, "true" for the usual ones; empty: one look
  std::vector<std::string> sources;
  bool force = false;
};

// Pages made before they named their generator had the theme.
bool is_report(const std::string& path) {
  return kind_by_text("", "<!doctype html>", {"content=\"Sinklab report\""}).recognises(path) ||
         kind_by_text("", "<!doctype html>", {"<html lang=\"en\" data-theme=\"light\">"}).recognises(path);
}

// results.csv, or a file of plot_csv.h.
bool is_table(const std::string& path) {
  return kind_by_text("", "run,", {"sink_1"}).recognises(path) ||
         kind_by_text("", "line,", {"runs"}).recognises(path) ||
         kind_by_text("", "what,layer,head,query", {}).recognises(path);
}

bool is_csv_folder(const std::string& path) { return path.ends_with('/') || std::filesystem::is_directory(path); }

// Makes missing folders.
void make_room(const std::string& path, const OutputKind& kind, bool force) {
  std::error_code ignored;  // what matters is whether the file can be written
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path(), ignored);
  require_output(path, kind, force);
}

// Before any work, as what follows may take long.
void require_outputs(const Arguments& arguments) {
  make_room(arguments.out, {"a page of `report`", is_report}, arguments.force);
  if (!arguments.csv.empty() && !is_csv_folder(arguments.csv))
    make_room(arguments.csv, kind_by_text("a table of `report`", "run,", {"sink_1"}), arguments.force);
}

// The table of all runs, or that and the numbers of every figure.
void write_csv(const Arguments& arguments, const std::vector<Run>& runs) {
  if (!is_csv_folder(arguments.csv)) {
    write_file_atomically(arguments.csv, results_csv(runs));
    return;
  }
  std::map<std::string, std::string> files = plot_csvs(runs);
  files["results.csv"] = results_csv(runs);
  const std::filesystem::path folder(arguments.csv);
  for (const auto& [name, text] : files) make_room(folder / name, {"a table of `report`", is_table}, arguments.force);
  for (const auto& [name, text] : files) write_file_atomically(folder / name, text);
}

void write_report(const Arguments& arguments, const std::vector<Run>& runs, const std::string& chart_js, int reload) {
  const std::string html = page(runs, arguments.title, chart_js, reload);
  write_file_atomically(arguments.out, html);
  if (!arguments.csv.empty()) write_csv(arguments, runs);
  const auto open = std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !run.finished; });
  std::fprintf(stderr, "report: %s, %zu %s%s, %.2f MB\n", printable(arguments.out).c_str(), runs.size(),
               runs.size() == 1 ? "run" : "runs",
               open > 0 ? (", " + std::to_string(open) + " not finished").c_str() : "",
               static_cast<double>(html.size()) / 1e6);
  if (html.size() > 5000000) std::fprintf(stderr, "report: warning: over 5 MB; give fewer run folders\n");
}

std::atomic<int> stopped_by{0};
void stop(int signal) { stopped_by = signal; }

// 0 where nothing is to be followed.
int seconds_of(const std::string& follow) {
  if (follow.empty()) return 0;
  if (follow == "true") return 10;
  int seconds = 0;
  const auto [end, error] = std::from_chars(follow.data(), follow.data() + follow.size(), seconds);
  if (error != std::errc() || end != follow.data() + follow.size() || seconds < 1 || seconds > 86400)
    throw Error("--follow takes whole seconds from 1 to 86400, as in --follow=30; got `" + follow + "`", Exit::usage);
  return seconds;
}

// What another look would find changed, and only that: how far each run has got.
std::vector<std::string> state_of(const std::vector<Run>& runs) {
  std::vector<std::string> state;
  for (const Run& run : runs)
    state.push_back(run.folder + " " + std::to_string(run.step) + (run.finished ? " finished" : ""));
  return state;
}

void wait(int seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  while (!stopped_by && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

// Rewrites the report whenever a run has gone on, until all have finished and another look finds none new; the last
// page does not reload itself. The exit code.
int follow(const Arguments& arguments, const std::string& chart_js, std::vector<Run>& runs, int seconds) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, stop);
  std::vector<std::string> written;
  for (;;) {
    const std::vector<std::string> state = state_of(runs);
    const bool all_finished = std::all_of(runs.begin(), runs.end(), [](const Run& run) { return run.finished; });
    if (state == written && all_finished) break;
    if (state != written) write_report(arguments, runs, chart_js, seconds);
    written = state;
    wait(seconds);
    if (stopped_by) break;
    try {
      runs = read_runs(arguments.sources);
    } catch (const Error& error) {  // a run that is just being replaced, say: what was read before stays
      std::fprintf(stderr, "report: warning: %s; the page stays as it was\n", printable(error.what()).c_str());
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
  app.add_option("--out,-o", arguments.out,
                 "the HTML file to write [report.html in the one folder given, else in the nearest folder that holds "
                 "everything given]");
  app.add_option(
      "--csv", arguments.csv,
      "also write the numbers and settings of every run to this file; into a folder (one that exists, or PATH/), "
      "as results.csv beside the numbers of every figure as it is first drawn");
  app.add_flag("--force", arguments.force, "let --out and --csv replace files that `report` did not make");
  app.add_option("--title", arguments.title, "heading of the page")->capture_default_str();
  app.add_option("--chart-js", arguments.chart_js, "Chart.js to put into the page; found by itself on Debian");
  // A flag, whose value stands behind `=`, because `--follow runs/first` names a run.
  app.add_flag("--follow", arguments.follow,
               "write the page anew as the runs go on, looking every 10 seconds or as many as given; meanwhile it "
               "reloads itself. Ends when all runs have finished and the next look finds no new one, or with Ctrl-C")
      ->option_text("[=SECONDS]");
  app.add_option("RUN", arguments.sources,
                 "run folders, folders of runs, and JSON files of eval_<ablation> sink, in any mixture")
      ->required();
  app.footer(
      "Examples:\n  report runs/quickstart                     every run in that folder; writes "
      "runs/quickstart/report.html\n  report --follow runs/first                 while it trains\n"
      "  report random.json repeated.json runs/first   inputs side by side\n\n"
      "A study is a folder of runs: its page has seeds as one line with a band, a filter (learning-rate=0.01 "
      "ablation~op_), groupings, two runs side by side, the study's claims with a verdict, and CSV of every figure.\n\n"
      "A study in pandas, after `report runs/study --csv study.csv`:\n"
      "  import pathlib, pandas as pd\n"
      "  runs = pd.read_csv(\"study.csv\")  # a row per run: what was measured, and every setting\n"
      "  files = sorted(pathlib.Path(\"runs/study\").glob(\"*/metrics.jsonl\"))\n"
      "  steps = pd.concat([pd.read_json(f, lines=True).assign(run=f.parent.name) for f in files])  # a row per step\n"
      "  print(runs.groupby([\"ablation\", \"learning_rate\"])[[\"val_loss\", \"sink_1\"]].agg([\"mean\", \"min\", "
      "\"max\"]))\n\n"
      "Only runs that differ in nothing but their seed are averaged; the others are named by their settings.\n"
      "Exit codes: 0 done, 2 usage, 3 bad input, 8 disk, 128 + n stopped by signal n.");
}

}  // namespace
}  // namespace sink::report

int main(int argc, char** argv) {
  return sink::run_program("report", [&] {
    sink::report::Arguments arguments;
    CLI::App app("Makes one self-contained HTML page of runs, readable without a network, and prints their numbers.",
                 "report");
    sink::report::add_options(app, arguments);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
      throw sink::Error(std::string(error.what()) + "; see --help", sink::Exit::usage);
    }
    return sink::report::make_report(arguments);
  });
}
