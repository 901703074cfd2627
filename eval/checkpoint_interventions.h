// Interventions on a checkpoint, on the text it was validated on: what `eval_<ablation> interventions` and `sweep`
// measure, and the file they write.
#pragma once

#include <string>
#include <vector>

#include "eval/interventions.h"
#include "model/ablation.h"

namespace sink {

struct InterventionRequest {
  std::string checkpoint;
  std::string data;               // another folder than the run's; empty: the run's
  std::string precision = "f32";  // or f64
  std::vector<std::int64_t> tokens{1, 5};
  std::int64_t sequences = 100;
  std::int64_t context = 0;  // 0: that of training
};

struct CheckpointInterventions {
  Interventions measured;
  std::string json;  // an object: what was measured, of what
};

// Throws Error as load_model and validation_text do.
CheckpointInterventions intervene_on_checkpoint(const InterventionRequest& request, const Ablation& ablation);

}  // namespace sink
