#include "eval/score/continuation_score.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "engine/check.h"
#include "engine/io/bounded_json.h"
#include "engine/io/utf8.h"
#include "eval/generate/sampling.h"
#include "model/key_value_cache.h"

namespace sink {
namespace {

constexpr std::size_t kMaxTokensPerPass = 256;  // tokens

Tensor one_row(std::span<const std::int32_t> ids) {
  return Tensor::from<std::int32_t>({1, static_cast<std::int64_t>(ids.size())}, {ids.begin(), ids.end()});
}

class ContinuationReader {
 public:
  explicit ContinuationReader(LanguageModel& model) : model_(model) {}

  ContinuationScore score(const ContinuationTokens& tokens) {
    const std::span<const std::int32_t> ids(tokens.ids), context = ids.first(ids.size() - tokens.scored);
    read_context(context);
    ContinuationScore score;
    add_score(after_context_, ids[context.size()], score);
    for (std::size_t at = context.size(); at + 1 < ids.size();) {
      const std::size_t count = std::min(ids.size() - 1 - at, kMaxTokensPerPass);
      const Tensor logits_1TV = read(ids.subspan(at, count), true);
      const std::int64_t V = logits_1TV.dim(2);
      for (std::size_t t = 0; t < count; ++t)
        add_score(logits_1TV.slice(static_cast<std::int64_t>(t) * V, {V}), ids[at + t + 1], score);
      at += count;
    }
    return score;
  }

 private:
  // Reuses the cache for the common beginning, and the logits after the context if it is the same: choices share it.
  void read_context(std::span<const std::int32_t> context) {
    const bool same = after_context_.defined() && std::equal(context.begin(), context.end(), held_.begin(),
                                                             held_.begin() + static_cast<std::ptrdiff_t>(context_));
    std::size_t common = context.size();
    if (!same) {
      const auto differs = std::mismatch(context.begin(), context.end(), held_.begin(), held_.end()).first;
      common = std::min(static_cast<std::size_t>(differs - context.begin()), context.size() - 1);
    }
    keep(common);
    if (same) return;
    const auto prefix = static_cast<std::size_t>(model_.sizes().prefix);
    while (held_.size() < context.size()) {
      const std::size_t most = std::max(kMaxTokensPerPass, held_.empty() ? prefix : 0);
      after_context_ = read(context.subspan(held_.size(), std::min(most, context.size() - held_.size())), false);
    }
    context_ = context.size();
  }

  void keep(std::size_t count) {
    if (!cache_ || count < std::max<std::size_t>(1, static_cast<std::size_t>(model_.sizes().prefix))) {
      cache_.emplace(model_.sizes().context + model_.extra_tokens());
      count = 0;
    }
    if (const std::int64_t kept = model_.extra_tokens() + static_cast<std::int64_t>(count); count > 0)
      cache_->drop(kept, cache_->length());
    held_.resize(count);
  }

  // Logits (1, T, V) after each token, or (1, V) after the last.
  Tensor read(std::span<const std::int32_t> ids, bool each) {
    const ForwardContext ctx{.cache = &*cache_};
    Tensor logits = each ? model_.logits(one_row(ids), ctx) : model_.next_logits(one_row(ids), ctx);
    held_.insert(held_.end(), ids.begin(), ids.end());
    return logits.to(Device::cpu);
  }

  static void add_score(const Tensor& logits_V, std::int32_t id, ContinuationScore& score) {
    score.logprobs.push_back(log_probability(logits_V, id));
    score.greedy.push_back(Sampling{}.choose(logits_V, 0) == id);
  }

  LanguageModel& model_;
  std::optional<KeyValueCache> cache_;
  std::vector<std::int32_t> held_;  // the tokens in the cache
  std::size_t context_ = 0;         // length of the last context, which is the beginning of held_
  Tensor after_context_;            // (1, V)
};

}  // namespace

std::vector<ContinuationTokens> PairEncoder::operator()(const ScorePair& pair, EncodeCache& cache) const {
  const std::string context = pair.context.substr(0, without_white_space_at_end(pair.context));
  std::vector<std::int32_t> ids = tokenizer.encode(context, cache);
  std::size_t before = ids.size();
  // A token that crosses the end of the context is left out, as in lm-evaluation-harness.
  if (const auto whole = tokenizer.encode(pair.context + pair.continuation, cache); whole.size() > before)
    ids.insert(ids.end(), whole.begin() + static_cast<std::ptrdiff_t>(before), whole.end());
  const std::vector<std::int32_t> first = before > 0 ? begin : std::vector<std::int32_t>{prefix};
  if (first == std::vector<std::int32_t>{-1})
    throw JsonFailure("expected a context, as the tokenizer has no token to begin with: give --prefix-token");
  if (ids.size() < first.size() || !std::equal(first.begin(), first.end(), ids.begin())) {
    ids.insert(ids.begin(), first.begin(), first.end());
    before += first.size();
  }
  before = std::max(before, first.size());
  if (pair.continuation.empty() || ids.size() <= before)
    throw JsonFailure("expected a continuation of at least one token after the context");
  const std::size_t scored = ids.size() - before, room = static_cast<std::size_t>(longest);
  if (scored > room && !context.empty())
    throw JsonFailure("the continuation has " + std::to_string(scored) + " tokens, the model reads at most " +
                      std::to_string(longest));
  std::vector<ContinuationTokens> parts;
  for (std::size_t done = 0; done < scored;) {
    const std::size_t part = std::min(scored - done, room);
    done += part;
    const std::size_t end = before + done, first = end > room + 1 ? end - room - 1 : 0;
    parts.push_back(
        {{ids.begin() + static_cast<std::ptrdiff_t>(first), ids.begin() + static_cast<std::ptrdiff_t>(end)}, part});
  }
  return parts;
}

double ContinuationScore::sum() const { return std::accumulate(logprobs.begin(), logprobs.end(), 0.0); }

bool ContinuationScore::all_greedy() const {
  return std::all_of(greedy.begin(), greedy.end(), [](bool is) { return is; });
}

std::vector<ContinuationScore> score_continuations(LanguageModel& model, const std::vector<ContinuationTokens>& all) {
  const auto prefix = static_cast<std::size_t>(std::max<std::int64_t>(1, model.sizes().prefix));
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    order[i] = i;
    const std::size_t before = all[i].ids.size() - all[i].scored;
    SINK_CHECK(all[i].scored > 0 && before >= prefix, "score",
               "expected at least " + std::to_string(prefix) + " tokens, which the model lets see each other, before " +
                   "what is scored, got " + std::to_string(before),
               Exit::bad_input);
    check_tokens(one_row(all[i].ids), model.sizes().vocabulary);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return all[a].ids < all[b].ids; });
  std::vector<ContinuationScore> scores(all.size());
  ContinuationReader reader(model);
  for (const std::size_t i : order) scores[i] = reader.score(all[i]);
  return scores;
}

}  // namespace sink
