// Interventions on a checkpoint, on the text it was validated on, or on a model of another program: what
// `eval_<ablation> interventions` and `quantise` and `sweep` measure, and the file they write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/given_input.h"
#include "eval/interventions/activation_kurtosis.h"
#include "eval/interventions/interventions.h"
#include "model/ablation.h"

namespace sink {

struct InterventionRequest {
  std::string checkpoint;  // or a model of another program (eval/evaluated_model.h)
  GivenInput given;  // nothing: validation sequences of the run, or of the folder `data`; context 0: as in training
  std::string precision = "f32";  // or f64
  std::vector<Intervention> interventions = default_interventions({1, 5});
  bool with_kurtosis = false;
  std::int64_t sequences = 100;  // at most
  std::int64_t batch = 0;        // sequences at a time; 0: as ComputeOptions says, of at most 256 MiB of logits
};

struct CheckpointInterventions {
  Interventions measured;
  std::optional<ActivationKurtosis> kurtosis;
  std::string json;  // an object: what was measured, of what
};

// Throws Error as load_evaluated, validation_text, GivenInput and intervene do.
CheckpointInterventions intervene_on_checkpoint(const InterventionRequest& request, const Ablation& ablation);

}  // namespace sink
