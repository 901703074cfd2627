// The model that an evaluation is of: a checkpoint of ours, or a model of another program, read in place.
#pragma once

#include <memory>
#include <string>

#include "engine/io/checkpoint.h"
#include "model/ablation.h"

namespace sink {

struct EvaluatedModel {
  // Of a model of another program the attributes alone, as far as there are such: tokenizer_json.
  Checkpoint checkpoint;
  std::unique_ptr<LanguageModel> model;
};

// `path`: checkpoint.h5, a folder of Hugging Face, a GGUF file or a .bin of llama2.c. Throws Error as load_checkpoint,
// load_model and open_model do.
EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, DType compute,
                              Device device = Device::cpu);

}  // namespace sink
