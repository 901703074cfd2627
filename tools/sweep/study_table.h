// A study's results as texts: a table for a terminal, Markdown, CSV and a section of an HTML page. Same results, same
// bytes.
#pragma once

#include <string>

#include "tools/sweep/study_results.h"

namespace sink {

// What the Markdown begins with, so that it is told from somebody's own.
inline constexpr const char* kMarkdownMark = "<!-- made by sweep -->\n";

std::string study_text(const StudyResults& results);
std::string study_markdown(const StudyResults& results);
// One line a group: name, ablation, its settings, seeds; of every measure mean, ends of the interval, and the same of
// the difference from the baseline; the paper's row, direction and remarks. What is not known is an empty field.
std::string study_csv(const StudyResults& results);
std::string study_html(const StudyResults& results);

}  // namespace sink
