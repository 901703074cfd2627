// The model and tokens of `explain`: a checkpoint, or without one a small model with initial values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eval/input_options.h"
#include "model/ablation.h"

namespace sink {

struct ExplainedModel {
  std::unique_ptr<LanguageModel> model;  // F64
  Tensor tokens_1T;
  std::function<std::string(std::int32_t)> token_text;
  std::vector<std::string> words_T;  // texts of tokens_1T, for the command sink-row of the debugger
  bool trained = false;
  std::string what;  // "runs/sink/checkpoint.h5, step 2000", "an initial model (seed 0), not trained: ..."
};

// Sizes that the user gives for the initial model, by flag without dashes.
using GivenSizes = std::map<std::string, std::string>;

// The sizes of train_<name> --tiny with these changes and a context of at least T tokens. Throws Exit::usage for
// invalid sizes.
Sizes tiny_sizes(const GivenSizes& given, std::int64_t T, std::int64_t vocabulary);

// Throws Error like load_model and InputOptions::sequences.
ExplainedModel model_of_checkpoint(const std::string& path, const InputOptions& given, const Ablation& ablation);
// Initial values by `seed`, one token for each byte of the text.
ExplainedModel initial_model(const InputOptions& given, const GivenSizes& sizes, std::uint64_t seed,
                             const Ablation& ablation);

}  // namespace sink
