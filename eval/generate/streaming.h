// What a model makes of a text far longer than what it keeps of it (the experiment of StreamingLLM, Xiao et al. 2023).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eval/generate/token_reader.h"

namespace sink {

// Of targets [begin, end) of the text, counted from 0: the token after the first is target 0.
struct StreamStretch {
  std::int64_t begin = 0, end = 0;
  double loss = 0;  // mean, nats a token
};

struct StreamLoss {
  Eviction eviction;
  double loss = 0;  // mean over all targets, nats a token; e^loss is the perplexity
  std::vector<StreamStretch> stretches;
  double seconds = 0;
};

// The loss of every token but the first from those before it that are kept, averaged over `stretches` runs of equal
// length (the last may be shorter). `told(n)` sees how many have been read. Throws Error (Exit::usage) for fewer than
// two tokens, and as TokenReader does.
StreamLoss stream_loss(LanguageModel& model, std::span<const std::int32_t> ids, const Eviction& eviction,
                       std::int64_t stretches, const std::function<void(std::int64_t)>& told);

// "all", "1024" (the last so many) or "4+1020" (the first so many, too). Throws Error (Exit::usage) for anything else.
Eviction eviction_named(const std::string& text);

// A row for each; a column for each stretch.
std::string stream_table(const std::vector<StreamLoss>& losses);
std::string stream_json(const std::string& model, const std::string& ablation, std::int64_t context,
                        std::int64_t tokens, const std::vector<StreamLoss>& losses);

}  // namespace sink
