// The page's static tables, which need no scripts.
#pragma once

#include <string>
#include <vector>

#include "tools/report/page_data.h"

namespace sink::report {

// `text` with a tooltip: the definition that page.html has for `name`.
std::string term(const char* name, const std::string& text);

// A short line in the run's colour, dash pattern and marker.
std::string swatch(const LineStyle& style);

// Final values of every run, and the mean of each group with several seeds.
std::string final_table(const TaskRuns& task, const std::vector<Run>& runs, const std::vector<LineStyle>& styles);

// "seed 0, 8 000 steps": what all runs have in common, which final_table leaves out.
std::string common_settings(const TaskRuns& task);

// Sink_1 at 0.3 and alpha_1 of models measured on several inputs, a row per model (Gu et al. 2025, Table 1 and
// Figure 2); "" without such runs. Models of the same name are told apart by their file.
std::string inputs_table(const std::vector<const Run*>& runs);

// One <details> per run: where it comes from and its config.toml.
std::string configurations(const std::vector<Run>& runs, const std::vector<LineStyle>& styles);

}  // namespace sink::report
