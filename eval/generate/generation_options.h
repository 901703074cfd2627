// What generate and chat have in common on a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "engine/io/compute_options.h"
#include "eval/generate/sampling.h"
#include "eval/generate/token_reader.h"

namespace sink {

struct GenerationOptions {
  std::string model, data;
  Sampling sampling;
  Eviction eviction;
  ComputeOptions compute;
  std::int64_t most = 0;  // tokens
};

// The model, --most and its like; `most`: the number that is meant where none is given.
void add_generation_options(CLI::App* command, GenerationOptions& options, std::int64_t most);
// --window and --keep-first.
void add_eviction_options(CLI::App* command, Eviction& eviction);

}  // namespace sink
