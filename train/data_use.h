// How often a run goes through its data, and in which parts, for people to read.
#pragma once

#include <string>
#include <vector>

#include "engine/data/data_source.h"

namespace sink {

// Of a run that reads `tokens` tokens: "2.31 passes over 7.222e+06 tokens of data", and where these are of several
// domains, a line for each. Nothing where the data never ends.
std::vector<std::string> data_use(const DataSource& data, double tokens);

}  // namespace sink
