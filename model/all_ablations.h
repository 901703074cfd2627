// All ablations as run-time values. CMakeLists.txt generates the source from ablations.h and the user's file
// (SINK_ABLATIONS).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/ablation.h"

namespace sink {

// In the order of ablations.h, then those of the user.
const std::vector<Ablation>& all_ablations();
// Those of ablations.h, which the golden files and the table of the paper cover.
std::span<const Ablation> repository_ablations();
// The number of ablations in ablations.h that this build leaves out (SINK_ABLATION_SET of CMakeLists.txt).
int ablations_left_out();

// Throws Exit::usage for an unknown name, with similar names and how to build a new ablation.
const Ablation& ablation_named(const std::string& name);

// Building train_<new> does not rebuild the programs that hold all ablations. Returns a note with the names in
// `list_file` (one per line, written by CMake) that are not in all_ablations(); empty if there are none or no file.
std::string note_of_unbuilt_ablations(const std::string& list_file);
// For the build folder of this program.
std::string note_of_unbuilt_ablations();

}  // namespace sink
