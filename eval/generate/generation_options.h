// The command-line options that generate and chat share.
#pragma once

#include <string>

#include "engine/io/compute_options.h"
#include "eval/generate/sampling.h"
#include "eval/generate/token_reader.h"

namespace CLI {
class App;
}

namespace sink {

struct GenerationOptions {
  std::string model, data;
  Sampling sampling;
  Eviction eviction;
  ComputeOptions compute;
  std::int64_t most = 0;  // tokens
};

// The model and the sampling; `most`: the default number of tokens.
void add_generation_options(CLI::App* command, GenerationOptions& options, std::int64_t most);
// --window and --keep-first.
void add_eviction_options(CLI::App* command, Eviction& eviction);

}  // namespace sink
