#include "eval/score/continuation_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "engine/check.h"
#include "model/key_value_cache.h"

namespace sink {
namespace {

constexpr std::size_t kReadTogether = 256;  // tokens

Tensor one_row(std::span<const std::int32_t> ids) {
  Tensor ids_1T = Tensor::empty({1, static_cast<std::int64_t>(ids.size())}, DType::I32);
  std::copy(ids.begin(), ids.end(), ids_1T.data<std::int32_t>());
  return ids_1T;
}

class ContinuationReader {
 public:
  explicit ContinuationReader(LanguageModel& model) : model_(model) {}

  ContinuationScore score(const ContinuationTokens& tokens) {
    const std::span<const std::int32_t> ids(tokens.ids), context = ids.first(ids.size() - tokens.scored);
    read_context(context);
    ContinuationScore score;
    judge(behind_context_, ids[context.size()], score);
    for (std::size_t at = context.size(); at + 1 < ids.size();) {
      const std::size_t count = std::min(ids.size() - 1 - at, kReadTogether);
      const Tensor logits_1TV = read(ids.subspan(at, count), true);
      const std::int64_t V = logits_1TV.dim(2);
      for (std::size_t t = 0; t < count; ++t)
        judge(logits_1TV.slice(static_cast<std::int64_t>(t) * V, {V}), ids[at + t + 1], score);
      at += count;
    }
    return score;
  }

 private:
  // Keeps what is read of it already, and what comes behind it: choices have their context in common.
  void read_context(std::span<const std::int32_t> context) {
    const bool same = behind_context_.defined() && std::equal(context.begin(), context.end(), held_.begin(),
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
      const std::size_t most = std::max(kReadTogether, held_.empty() ? prefix : 0);
      behind_context_ = read(context.subspan(held_.size(), std::min(most, context.size() - held_.size())), false);
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

  // Logits (1, T, V) behind each token, or (1, V) behind the last.
  Tensor read(std::span<const std::int32_t> ids, bool each) {
    const ForwardContext ctx{.cache = &*cache_};
    Tensor logits = each ? model_.logits(one_row(ids), ctx) : model_.next_logits(one_row(ids), ctx);
    held_.insert(held_.end(), ids.begin(), ids.end());
    return logits.to(Device::cpu);
  }

  static void judge(const Tensor& logits_V, std::int32_t id, ContinuationScore& score) {
    const Tensor exact_V = logits_V.to(DType::F64);
    const std::span<const double> logits(exact_V.data<double>(), static_cast<std::size_t>(exact_V.size()));
    const auto top = std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double logit : logits) sum += std::exp(logit - *top);
    const double logprob = logits[static_cast<std::size_t>(id)] - *top - std::log(sum);
    SINK_CHECK(!std::isnan(logprob), "score", "the model gives NaN for a token", Exit::diverged);
    score.logprobs.push_back(logprob);
    score.greedy.push_back(top - logits.begin() == id);
  }

  LanguageModel& model_;
  std::optional<KeyValueCache> cache_;
  std::vector<std::int32_t> held_;  // what the cache has been given
  std::size_t context_ = 0;         // of which the first are the context that was read last
  Tensor behind_context_;           // (1, V)
};

}  // namespace

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
