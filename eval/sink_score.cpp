#include "eval/sink_score.h"

#include <algorithm>
#include <cmath>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "engine/ops/cross_entropy/cross_entropy.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

using Table = xt::xtensor<double, 2>;

// alpha_k of every (sequence, layer, head), from the column sums of one kind of weights.
struct AlphaTable {
  xt::xtensor<double, 4> alpha_NLHK;

  void put(std::size_t n, std::size_t layer, const Tensor& column_BHK, std::int64_t T) {
    auto column = view<double, 3>(column_BHK);
    std::size_t K = column.shape(2);
    // Key k (from 0) can be seen by T - k rows.
    xt::xtensor<double, 1> rows_K = static_cast<double>(T) - xt::arange<double>(0, static_cast<double>(K));
    auto sequences = xt::range(n, n + column.shape(0));
    xt::view(alpha_NLHK, sequences, layer, xt::all(), xt::all()) = column / rows_K;
  }

  SinkScores scores() const {
    SinkScores scores;
    auto to_vector = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
    xt::xtensor<double, 1> alpha_K = xt::mean(alpha_NLHK, {0, 1, 2});
    scores.alpha_k = to_vector(alpha_K);
    for (std::size_t e = 0; e < kSinkEpsilons.size(); ++e) {
      // The indicator of each sample first, the mean afterwards.
      xt::xtensor<double, 4> above = xt::cast<double>(alpha_NLHK > kSinkEpsilons[e]);
      xt::xtensor<double, 1> share_K = 100.0 * xt::mean(above, {0, 1, 2});
      scores.sink_k[e] = to_vector(share_K);
    }
    Table alpha_1_LH = xt::mean(xt::view(alpha_NLHK, xt::all(), xt::all(), xt::all(), 0), {0});
    for (std::size_t layer = 0; layer < alpha_1_LH.shape(0); ++layer)
      scores.alpha_1_layer_head.push_back(
          to_vector(xt::xtensor<double, 1>(xt::row(alpha_1_LH, static_cast<std::ptrdiff_t>(layer)))));
    return scores;
  }
};

// Adds to norm_T the Euclidean norm of the vectors at every position, summed over sequences and heads.
// x: (B, T, C) or (B, H, T, D); position is the last but one axis.
template <class Row>
void add_norms(const Tensor& x, Row&& norm_T) {
  std::int64_t D = x.dim(-1), T = x.dim(-2), groups = x.size() / (T * D);
  with_real(x.dtype(), [&](auto zero) {
    using R = decltype(zero);
    const R* data = x.data<R>();
    for (std::int64_t group = 0; group < groups; ++group)
      for (std::int64_t t = 0; t < T; ++t) {
        const R* row = data + (group * T + t) * D;
        double sum = 0;
        for (std::int64_t d = 0; d < D; ++d) sum += static_cast<double>(row[d]) * static_cast<double>(row[d]);
        norm_T(static_cast<std::size_t>(t)) += std::sqrt(sum);
      }
  });
}

struct Gatherer final : Probe {
  Gatherer(const Sizes& s, std::int64_t N, std::int64_t T)
      : T(T),
        hidden_norm(xt::zeros<double>({s.layers + 1, T})),
        key_norm(xt::zeros<double>({s.layers, T})),
        value_norm(xt::zeros<double>({s.layers, T})) {
    std::int64_t K = std::min(T, kSinkPositions);
    raw.alpha_NLHK = xt::zeros<double>({N, s.layers, s.heads, K});
    proxy.alpha_NLHK = raw.alpha_NLHK;
  }

  void hidden(std::int64_t layer, const Tensor& x_BTC) override {
    add_norms(x_BTC, xt::row(hidden_norm, static_cast<std::ptrdiff_t>(layer)));
  }

  void attention(const AttentionView& view) override {
    AttentionStatistics statistics = view.statistics(std::min(T, kSinkPositions));
    std::size_t layer = static_cast<std::size_t>(view.layer);
    raw.put(first_sequence, layer, statistics.column_raw_BHK, T);
    proxy.put(first_sequence, layer, statistics.column_proxy_BHK, T);
    row_mass += xt::sum(sink::view<double, 2>(statistics.row_mass_BH))();
    entropy += xt::sum(sink::view<double, 2>(statistics.entropy_BH))();
    add_norms(view.k_BHTD, xt::row(key_norm, static_cast<std::ptrdiff_t>(view.layer)));
    add_norms(view.v_BHTD, xt::row(value_norm, static_cast<std::ptrdiff_t>(view.layer)));
  }

  std::int64_t T;
  std::size_t first_sequence = 0;
  AlphaTable raw, proxy;
  Table hidden_norm, key_norm, value_norm;  // sums over sequences (and heads)
  double row_mass = 0, entropy = 0;         // sums over sequences, layers and heads
};

struct MapTaker final : Probe {
  MapTaker(std::int64_t layer, std::int64_t head) : layer(layer), head(head) {}
  void hidden(std::int64_t, const Tensor&) override {}
  void attention(const AttentionView& view) override {
    if (view.layer == layer) map_TT = view.map(0, head);
  }
  std::int64_t layer, head;
  Tensor map_TT;
};

std::vector<std::vector<double>> nested(const Table& table) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < table.shape(0); ++i) {
    auto row = xt::row(table, static_cast<std::ptrdiff_t>(i));
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

Evaluation::Map take_map(LanguageModel& model, const Tensor& tokens_NT, const SinkScores& proxy) {
  Evaluation::Map map;
  double largest = -1;
  for (std::size_t layer = 0; layer < proxy.alpha_1_layer_head.size(); ++layer)
    for (std::size_t head = 0; head < proxy.alpha_1_layer_head[layer].size(); ++head)
      if (proxy.alpha_1_layer_head[layer][head] > largest) {
        largest = proxy.alpha_1_layer_head[layer][head];
        map.layer = static_cast<std::int64_t>(layer);
        map.head = static_cast<std::int64_t>(head);
      }
  Tensor first = tokens_NT.rows(0, 1);
  MapTaker taker(map.layer, map.head);
  model.logits(first, &taker);
  map.tokens.assign(first.data<std::int32_t>(), first.data<std::int32_t>() + first.size());
  map.weights = nested(Table(view<double, 2>(taker.map_TT)));
  return map;
}

// Mean over layers of |v_1| against the mean of the other positions.
double first_against_others(const Table& norm_LT) {
  if (norm_LT.shape(1) < 2) return 1;
  xt::xtensor<double, 1> first = xt::col(norm_LT, 0);
  xt::xtensor<double, 1> others = xt::mean(xt::view(norm_LT, xt::all(), xt::range(1, xt::placeholders::_)), {1});
  return xt::mean(first / others)();
}

}  // namespace

Evaluation evaluate(LanguageModel& model, const Tensor& tokens_NT, const Tensor& targets_NT, std::int64_t batch,
                    bool with_map) {
  const Sizes& s = model.sizes();
  SINK_CHECK(tokens_NT.rank() == 2 && tokens_NT.size() > 0 && targets_NT.shape() == tokens_NT.shape(), "evaluate",
             "expected tokens and targets (N, T) with N, T > 0, got " + tokens_NT.str() + " and " + targets_NT.str(),
             Exit::bad_input);
  std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  Gatherer gatherer(s, N, T);
  double loss_sum = 0;
  std::int64_t targets = 0;
  for (std::int64_t first = 0; first < N; first += batch) {
    std::int64_t last = std::min(N, first + batch);
    gatherer.first_sequence = static_cast<std::size_t>(first);
    Tensor batch_targets = targets_NT.rows(first, last);
    std::int64_t counted = count_targets(batch_targets);
    loss_sum += static_cast<double>(counted) *
                model.loss(tokens_NT.rows(first, last), batch_targets, 1, &gatherer).value().item();
    targets += counted;
  }

  double maps = static_cast<double>(N * s.layers * s.heads);
  double vectors = static_cast<double>(N * s.heads);
  Evaluation evaluation;
  evaluation.sequences = N;
  evaluation.context = T;
  evaluation.loss = loss_sum / static_cast<double>(targets);
  evaluation.proxy = gatherer.proxy.scores();
  evaluation.raw = gatherer.raw.scores();
  for (const auto& heads : evaluation.proxy.alpha_1_layer_head)
    for (double alpha : heads) evaluation.alpha_1_max = std::max(evaluation.alpha_1_max, alpha);
  evaluation.row_mass = gatherer.row_mass / maps;
  evaluation.entropy = gatherer.entropy / maps;
  evaluation.first_value_norm_ratio = first_against_others(gatherer.value_norm);
  evaluation.hidden_norm = nested(gatherer.hidden_norm / static_cast<double>(N));
  evaluation.key_norm = nested(gatherer.key_norm / vectors);
  evaluation.value_norm = nested(gatherer.value_norm / vectors);
  if (with_map) evaluation.map = take_map(model, tokens_NT, evaluation.proxy);
  return evaluation;
}

}  // namespace sink
