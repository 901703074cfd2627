// The model that a command evaluates: one of our checkpoints, or a model of another program, read in place.
#pragma once

#include <memory>
#include <string>

#include "engine/io/checkpoint.h"
#include "engine/io/compute_options.h"
#include "model/ablation.h"

namespace sink {

// For helps.
inline constexpr const char* kWhatIsEvaluated =
    "checkpoint.h5, Hugging Face folder or GGUF file; read in place: a folder has config.json and safetensors; a .bin "
    "of llama2.c works, too";

struct EvaluatedModel {
  // For a model of another program only the attributes that exist for it: tokenizer_json; begin_token, which its
  // tokenizer puts before every text; prefix_token, which lm-evaluation-harness puts before an empty context.
  Checkpoint checkpoint;
  std::unique_ptr<LanguageModel> model;
};

struct LoadOptions {
  bool in_place = true;      // see OpenModel::load
  std::int64_t context = 0;  // the longest text to be read; 0: the context of the model
};

// `path`: checkpoint.h5, a Hugging Face folder, a GGUF file or a llama2.c .bin. Throws Error like load_checkpoint,
// load_model and open_model, and Exit::usage for a context beyond that of a model with learned positions.
EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, DType compute,
                              Device device = Device::cpu, const LoadOptions& options = {});
// Applies `compute` to this process first.
EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, const ComputeOptions& compute,
                              const LoadOptions& options = {});

// Prints the first line of an evaluation on stderr, before its computation:
// "evaluating baseline: 425984 parameters, f32 on the CPU with 2 threads; runs/first/checkpoint.h5"
void print_header(const LanguageModel& model, const std::string& path, const Ablation& ablation,
                  const ComputeOptions& compute);

}  // namespace sink
