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
    "GGUF file, Hugging Face folder, checkpoint or run; a Hugging Face folder has config.json and safetensors, that of "
    "a run checkpoint.h5; the name of a model in the cache of the hub (ORG/NAME) and a .bin of llama2.c work, too";

struct EvaluatedModel {
  // For a model of another program only the attributes that exist for it: tokenizer_json; begin_token, which its
  // tokenizer puts before every text, and begin_rule, the source of that rule; prefix_token, which
  // lm-evaluation-harness puts before an empty context; end_tokens, at which generation ends; text_note, what a reader
  // of texts should know. If no text is read for the model, text_refusal, which says why, takes the place of
  // tokenizer_json: also where its tokenizer cannot be read, which only texts need. `without_logits` is there for a
  // backbone without unembedding, whose logits and losses are meaningless.
  Checkpoint checkpoint;
  std::unique_ptr<LanguageModel> model;
};

struct LoadOptions {
  bool in_place = true;      // see OpenModel::load
  std::int64_t context = 0;  // the longest text to be read; 0: the context of the model
  bool needs_logits = true;  // false: a backbone is loaded, too; the caller reads `without_logits`
};

// `given`: what model_path (model_path.h) finds: checkpoint.h5, a Hugging Face folder, a GGUF file or a llama2.c .bin.
// Throws Error like model_path, load_checkpoint, load_model and open_model, and Exit::usage for a context beyond that
// of a model with learned positions. Prints model_note (model/open/open_model.h) on stderr, but
// not for a given context, since the model was then loaded before.
EvaluatedModel load_evaluated(const std::string& given, const Ablation& ablation, DType compute,
                              Device device = Device::cpu, const LoadOptions& options = {});
// Applies `compute` to this process first.
EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, const ComputeOptions& compute,
                              const LoadOptions& options = {});

// Prints the first line of an evaluation on stderr, before its computation:
// "evaluating baseline: 425984 parameters, f32 on the CPU with 2 threads; runs/first/checkpoint.h5"
void print_header(const LanguageModel& model, const std::string& path, const Ablation& ablation,
                  const ComputeOptions& compute);

}  // namespace sink
