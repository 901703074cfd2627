// The model that an evaluation is of: a checkpoint of ours, or a model of another program, read in place.
#pragma once

#include <memory>
#include <string>

#include "engine/io/checkpoint.h"
#include "model/ablation.h"

namespace sink {

// For helps.
inline constexpr const char* kWhatIsEvaluated =
    "checkpoint.h5 of a run or made by hand, or a model of another program, which is read in place: a folder of "
    "Hugging "
    "Face with config.json and safetensors, a GGUF file, a .bin of llama2.c";

struct EvaluatedModel {
  // Of a model of another program the attributes alone, as far as there are such: tokenizer_json, and begin_token, with
  // which its tokenizer begins every text, or prefix_token, which lm-evaluation-harness puts before what has no context.
  Checkpoint checkpoint;
  std::unique_ptr<LanguageModel> model;
};

struct HowToLoad {
  bool in_place = true;      // see OpenModel::load
  std::int64_t context = 0;  // the longest text it is to read; 0: the model's own
};

// `path`: checkpoint.h5, a folder of Hugging Face, a GGUF file or a .bin of llama2.c. Throws Error as load_checkpoint,
// load_model and open_model do, and Exit::usage for a context longer than that of a model with a vector for each
// position.
EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, DType compute,
                              Device device = Device::cpu, const HowToLoad& how = {});

}  // namespace sink
