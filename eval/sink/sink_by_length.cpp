#include "eval/sink/sink_by_length.h"

#include <algorithm>
#include <cstdio>

namespace sink {
namespace {

// Column sums of every layer, and nothing else.
class ColumnSumHooks final : public ForwardHooks {
 public:
  ColumnSumHooks(const Sizes& sizes, std::int64_t extra_tokens, std::int64_t N, std::int64_t T, std::int64_t positions)
      : extra_tokens_(extra_tokens),
        K_(std::min(positions, T)),
        raw(N, sizes.layers, sizes.heads, T, K_),
        proxy(N, sizes.layers, sizes.heads, T, K_) {}
  void attention(AttentionPoint& point) override {
    const AttentionStatistics s = point.statistics(K_ + extra_tokens_);
    raw.store(sequence, point.layer, s.column_raw_BHX, extra_tokens_, point.has_extra_key, s.extra_raw_BH, documents);
    proxy.store(sequence, point.layer, s.column_proxy_BHX, extra_tokens_, point.has_extra_key, s.extra_proxy_BH,
                documents);
  }

 private:
  std::int64_t extra_tokens_, K_;

 public:
  std::int64_t sequence = 0;  // the first of the next forward pass
  DocumentPlaces documents;   // of its sequences
  AlphaTable raw, proxy;
};

std::string heading(const std::vector<double>& epsilons, const char* first) {
  std::string line = first;
  char text[64];
  for (double epsilon : epsilons) {
    char threshold[24];
    std::snprintf(threshold, sizeof threshold, "%%>%g", epsilon);
    std::snprintf(text, sizeof text, " %8s", threshold);
    line += text;
  }
  return line;
}

std::string cells(double alpha, const std::vector<double>& shares) {
  char text[64];
  std::snprintf(text, sizeof text, "%9.4f", alpha);
  std::string line = text;
  for (double share : shares) {
    std::snprintf(text, sizeof text, " %8.2f", share);
    line += text;
  }
  return line;
}

// Of key k, from 1.
std::vector<double> shares_of_key(const SinkScores& scores, std::size_t k) {
  std::vector<double> shares;
  for (const auto& sink_k : scores.sink_k) shares.push_back(sink_k[k - 1]);
  return shares;
}

}  // namespace

void keep_sinks_by_length(LanguageModel& model, const Batch& sequences, std::int64_t batch,
                          const std::vector<double>& epsilons, const std::vector<std::int64_t>& lengths,
                          Evaluation& evaluation, std::int64_t positions) {
  Evaluation::ByLength& kept = evaluation.by_length;
  kept = {.epsilons = epsilons, .lengths = lengths, .proxy = {}, .raw = {}};
  const std::int64_t N = sequences.sequences();
  for (std::int64_t T : lengths) {
    const Batch part = sequences.first(T);
    ColumnSumHooks hooks(model.sizes(), model.extra_tokens(), N, T, positions);
    for (hooks.sequence = 0; hooks.sequence < N; hooks.sequence += batch) {
      const Batch rows = part.rows(hooks.sequence, std::min(N, hooks.sequence + batch));
      hooks.documents = rows.documents();
      model.loss(rows, 1, {.hooks = &hooks});
    }
    kept.proxy.push_back(hooks.proxy.scores(epsilons));
    kept.raw.push_back(hooks.raw.scores(epsilons));
  }
}

std::string sinks_by_length_table(const Evaluation::ByLength& sinks, std::int64_t k) {
  std::string table =
      heading(sinks.epsilons, "first T tokens, proxy: alpha") + heading(sinks.epsilons, "  | raw: alpha") + "\n";
  for (std::size_t t = 0; t < sinks.lengths.size(); ++t) {
    const SinkScores &proxy = sinks.proxy[t], &raw = sinks.raw[t];
    for (std::int64_t key : k > 1 ? std::vector<std::int64_t>{1, k} : std::vector<std::int64_t>{1}) {
      const auto at = static_cast<std::size_t>(key);
      if (at > proxy.alpha_k.size()) continue;
      char start[64];
      std::snprintf(start, sizeof start, "T %6lld  token %-4lld", static_cast<long long>(sinks.lengths[t]),
                    static_cast<long long>(key));
      table += start + cells(proxy.alpha_k[at - 1], shares_of_key(proxy, at)) + "  |  " +
               cells(raw.alpha_k[at - 1], shares_of_key(raw, at)) + "\n";
    }
    if (proxy.star)
      table += "          extra *   " + cells(proxy.star->alpha, proxy.star->sink) + "  |  " +
               cells(raw.star->alpha, raw.star->sink) + "\n";
  }
  return table;
}

}  // namespace sink
