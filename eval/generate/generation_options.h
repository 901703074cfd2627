// The command-line options that generate and chat share.
#pragma once

#include <string>
#include <vector>

#include "engine/io/compute_options.h"
#include "eval/generate/sampling.h"
#include "eval/generate/token_reader.h"

namespace CLI {
class App;
}

namespace sink {

struct RoundingOptions {
  std::vector<std::int64_t> bits, keep_first, keep;  // keep: positions from 1
  std::string scheme = "kivi";

  // For each number of bits and of first tokens. Throws Error (Exit::usage) for tokens kept beyond a text of `tokens`.
  std::vector<CacheRounding> roundings(std::int64_t tokens = INT64_MAX) const;
};

struct GenerationOptions {
  std::string model, data;
  Sampling sampling;
  Eviction eviction;
  RoundingOptions rounding;
  ComputeOptions compute;
  std::int64_t most = 0;  // tokens

  CacheRounding cache_rounding() const;
};

// The model and the sampling; `most`: the default number of tokens.
void add_generation_options(CLI::App* command, GenerationOptions& options, std::int64_t most);
// --kv-bits, --kv-scheme and --keep-tokens; --keep-first where the command has none.
void add_rounding_options(CLI::App* command, RoundingOptions& rounding);

}  // namespace sink
