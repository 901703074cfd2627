// The loss on a text far longer than the cache (the experiment of StreamingLLM, Xiao et al. 2023).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eval/generate/token_reader.h"

namespace sink {

// Targets [begin, end) of the text; target 0 is the token after the first.
struct StreamStretch {
  std::int64_t begin = 0, end = 0;
  double loss = 0;        // mean, nats a token
  double divergence = 0;  // mean of KL(p || q) in nats, p with the exact cache and q with the rounded one
  double same_top = 0;    // share of tokens after which both have the same most likely token
};

struct StreamLoss {
  Eviction eviction;
  CacheRounding rounding = {};
  StreamStretch all = {};  // of all targets; e^loss is the perplexity
  std::vector<StreamStretch> stretches = {};
  double seconds = 0;
};

// The loss of every token but the first given the cached tokens before it, over `stretches` parts of equal length (the
// last may be shorter): with the exact cache, then for each rounding. `on_read(n)` is called after n tokens. Throws
// Error (Exit::usage) for fewer than two tokens, and like TokenReader.
std::vector<StreamLoss> stream_losses(LanguageModel& model, std::span<const std::int32_t> ids, const Eviction& eviction,
                                      const std::vector<CacheRounding>& roundings, std::int64_t stretches,
                                      const std::function<void(std::int64_t)>& on_read);

// The mean of losses of texts of one length, which have the same rows: one element for each text.
std::vector<StreamLoss> mean_of(const std::vector<std::vector<StreamLoss>>& texts);

// "all", "1024" (the last tokens), "4+1020" (first and last tokens) or "h64+960" (heavy hitters and last tokens).
// Throws Error (Exit::usage) for anything else.
Eviction eviction_named(const std::string& text);

// A row for each; a column for each stretch.
std::string stream_table(const std::vector<StreamLoss>& losses);
// A line for each, over the position in the text.
std::string stream_svg(const std::vector<StreamLoss>& losses);
std::string stream_json(const std::string& model, const std::string& ablation, std::int64_t context,
                        std::int64_t tokens, const std::vector<StreamLoss>& losses);

}  // namespace sink
