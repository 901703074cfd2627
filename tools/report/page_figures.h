// The figures of a task, as HTML: captions, spoken texts, controls and the places that the page's scripts draw into.
#pragma once

#include <string>
#include <vector>

#include "tools/report/page_data.h"

namespace sink::report {

// A task's part of the page. `index` is the group's, as in the page's data.
struct Section {
  const Group& group;
  std::size_t index;
  const std::vector<Run>& runs;
  const std::vector<LineStyle>& styles;
  const PageLimits& limits;

  std::size_t run_index(const Run* run) const { return static_cast<std::size_t>(run - runs.data()); }
};

// Whether the task of some run has a least loss that is known.
bool has_floor(const Group& group);

// Each is empty where no run has what it shows.
std::string sink_against_loss(const Section& section);
std::string head_maps(const Section& section);
std::string curves(const Section& section);
std::string profiles(const Section& section);  // norms, kurtosis, largest number, value share, loss by position
std::string first_positions(const Section& section);

// Two runs of the page side by side: choices, tables and empty figures that the scripts fill. Empty for one run.
std::string two_runs(const std::vector<Run>& runs);

}  // namespace sink::report
