// What `explain` looks at: the model of a checkpoint, or where none is given an initial one that fits on a screen, and
// the tokens that it reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eval/given_input.h"
#include "model/ablation.h"

namespace sink {

struct ExplainedModel {
  std::unique_ptr<LanguageModel> model;  // F64
  Tensor tokens_1T;
  std::function<std::string(std::int32_t)> token_text;
  std::vector<std::string> words_T;  // of tokens_1T: what sink-row of a debugger shows
  bool trained = false;
  std::string what;  // "runs/sink/checkpoint.h5, step 2000", "an initial model (seed 0), not trained: ..."
};

// Sizes of the initial model that are not train_<name> --tiny's, by their flags without dashes.
using GivenSizes = std::map<std::string, std::string>;

// Those of the initial model: train_<name> --tiny's but for what is given, with room for T tokens. Throws Exit::usage
// for sizes that make no model.
Sizes tiny_sizes(const GivenSizes& given, std::int64_t T, std::int64_t vocabulary);

// Of a checkpoint. Throws Error as load_model and GivenInput::sequences do.
ExplainedModel model_of_checkpoint(const std::string& path, const GivenInput& given, const Ablation& ablation);
// With the initial values of `seed` and one token for each byte of the text.
ExplainedModel initial_model(const GivenInput& given, const GivenSizes& sizes, std::uint64_t seed,
                             const Ablation& ablation);

}  // namespace sink
