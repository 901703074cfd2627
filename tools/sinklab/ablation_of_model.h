// The ablation that has the policies of a model.
#pragma once

#include <string>

#include "model/ablation.h"

namespace sink {

// Of the model at `path`, which model_path (eval/model_path.h) finds. The file is read once more for its values. Throws
// Error like open_model and load_checkpoint, and Exit::corrupt_checkpoint where this program has no such ablation.
const Ablation& ablation_of_model(const std::string& path);

}  // namespace sink
