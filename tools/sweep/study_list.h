// The list of studies that `sweep` alone prints.
#pragma once

#include <string>

namespace sink {

// Every *.toml right inside the folder: name, question, section of the paper, runs and hours at the size cpu, on
// stdout. Returns 0. Throws Error (Exit::usage) where there is no such folder.
int list_studies(const std::string& folder);

}  // namespace sink
