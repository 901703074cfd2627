// The numbers of every figure as CSV, the same as the page draws when it opens and as its CSV buttons then give.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// A file's name ("text-val_loss.csv") and its text, for every figure. Curves and profiles have a row per line and
// place: line, step | position | layer | k, value, least, greatest, runs. A line of several seeds has their mean at
// each place where one of them has a number, of those that have one there or on both sides of it, on a straight line;
// least and greatest are theirs, of a single long run those of the bucket of steps.
std::map<std::string, std::string> plot_csvs(const std::vector<Run>& runs);

}  // namespace sink::report
