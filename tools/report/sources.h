// What the command line names: run folders, folders of runs and measurements; and where their report goes.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// Reads every run that `paths` name, in order: a run folder; a folder whose own folders are runs, by name; a file that
// `eval_<ablation> sink` wrote. No two have the same name: those that would get their path behind it. Throws Error
// (Exit::bad_input) for what is none of these.
std::vector<Run> read_runs(const std::vector<std::string>& paths);

// report.html in the one folder given, else in the nearest folder that holds all of them.
std::string default_page(const std::vector<std::string>& paths);

}  // namespace sink::report
