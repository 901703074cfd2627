// The page's static tables: readable without scripts, on paper and by screen readers.
#pragma once

#include <string>
#include <vector>

#include "tools/report/page_data.h"

namespace sink::report {

// A short line in the run's colour and dash pattern, decorative.
std::string swatch(const LineStyle& style);

// Final numbers of every run of the group, and the mean of each arm with several seeds.
std::string final_table(const Group& group, const std::vector<Run>& runs, const std::vector<LineStyle>& styles);

// "seed 0, 8 000 steps": what all runs of the group have in common, and final_table leaves out.
std::string common_settings(const Group& group);

// One <details> per run: where it comes from and its config.toml.
std::string configurations(const std::vector<Run>& runs, const std::vector<LineStyle>& styles);

}  // namespace sink::report
