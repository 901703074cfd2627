// Interventions on a checkpoint or a model of another program: the work of `eval_<ablation> interventions`, `quantise`
// and `sweep`, and the JSON that they write.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/input_options.h"
#include "eval/interventions/activation_kurtosis.h"
#include "eval/interventions/interventions.h"
#include "model/ablation.h"

namespace sink {

struct InterventionRequest {
  std::string checkpoint;  // or a model of another program (eval/evaluated_model.h)
  // Empty: validation sequences of the run or of the folder `data`; context 0: as in training.
  InputOptions given;
  std::string precision = "f32";  // or f64
  std::vector<Intervention> interventions = default_interventions({1, 5});
  bool with_kurtosis = false;
  bool each_token = false;       // the change of each token, too
  std::int64_t sequences = 100;  // at most
  std::int64_t batch = 0;        // sequences at a time; 0: ComputeOptions::batch_of, with at most 256 MiB of logits
  std::function<void(const LanguageModel&)> before_computation = {};
};

struct CheckpointInterventions {
  Interventions measured;
  std::optional<ActivationKurtosis> kurtosis = {};
  std::vector<std::string> tokens = {};  // their texts, if there is one sequence or with each_token
  std::string json = {};                 // an object with the results and what they are of
};

// The sequences that a request measures. Throws Error like validation_text and InputOptions.
Batch sequences_of(const InterventionRequest& request, const Checkpoint& checkpoint, const Sizes& sizes);

// Throws Error like load_evaluated, validation_text, InputOptions and intervene.
CheckpointInterventions intervene_on_checkpoint(const InterventionRequest& request, const Ablation& ablation);

}  // namespace sink
