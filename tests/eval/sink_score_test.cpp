// The sink metric on maps whose scores are known in closed form, through a hand-made AttentionPoint.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "engine/rng.h"
#include "engine/tensor_view.h"
#include "eval/sink/evaluation_hooks.h"
#include "eval/sink/even_attention.h"

using namespace sink;

namespace {

// Weight of row i on key j, both from 0; j = -1: the extra key.
using Weights = std::function<double(std::int64_t i, std::int64_t j)>;

// Statistics of softmax-like weights (proxy = raw), one map per sequence, by plain sums.
AttentionStatistics statistics_of(const std::vector<Weights>& maps, std::int64_t T, std::int64_t columns,
                                  bool extra_key) {
  std::int64_t B = static_cast<std::int64_t>(maps.size());
  AttentionStatistics s;
  for (Tensor* sums :
       {&s.extra_raw_BH, &s.extra_proxy_BH, &s.row_sum_BH, &s.entropy_BH, &s.key1_dot_BH, &s.key1_norms_BH,
        &s.key1_cosine_BH, &s.other_dot_BH, &s.other_norms_BH, &s.other_cosine_BH, &s.value_share_BH})
    *sums = Tensor::zeros({B, 1}, DType::F64);
  s.column_raw_BHX = Tensor::zeros({B, 1, columns}, DType::F64);
  auto column_BHX = view<double, 3>(s.column_raw_BHX);
  auto extra_BH = view<double, 2>(s.extra_raw_BH);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t i = 0; i < T; ++i) {
      const Weights& map = maps[static_cast<std::size_t>(b)];
      for (std::int64_t j = 0; j < columns; ++j) column_BHX(b, 0, j) += map(i, j);
      if (extra_key) extra_BH(b, 0) += map(i, -1);
    }
  s.column_proxy_BHX = s.column_raw_BHX;
  s.extra_proxy_BH = s.extra_raw_BH;
  return s;
}

// Attention of one layer and head whose patterns are these.
struct OfMaps final : AttentionPoint {
  const std::vector<Weights>& maps;
  std::int64_t positions;

  OfMaps(const std::vector<Weights>& maps, std::int64_t positions, const Tensor& vectors, Var& o, bool extra_key)
      : AttentionPoint(0, vectors, vectors, vectors, o, extra_key, none, true), maps(maps), positions(positions) {}
  AttentionStatistics statistics(std::int64_t columns) const override {
    return statistics_of(maps, positions, columns, has_extra_key);
  }
  AttentionKeySums key_sums() const override { return {}; }
  Tensor pattern(std::int64_t, std::int64_t) const override { return {}; }
  Tensor mix(const Tensor&, const Tensor&, const Tensor&) const override { return {}; }
  Trace trace() const override { return {}; }

 private:
  static inline const Tensor none;
};

// Scores of a model of one layer and head whose sequences have these maps over `positions` positions, of which
// `extra_tokens`: those that the model puts first.
SinkScores scores_of(const std::vector<Weights>& maps, std::int64_t positions, std::int64_t extra_tokens = 0,
                     bool extra_key = false, std::int64_t window = 0) {
  std::int64_t N = static_cast<std::int64_t>(maps.size());
  Sizes sizes{
      .layers = 1, .heads = 1, .width = 2, .feed_forward = 1, .context = positions, .vocabulary = 2, .window = window};
  EvaluationHooks hooks(sizes, extra_tokens, N, positions - extra_tokens);
  Tensor vectors = Tensor::full({N, 1, positions, 2}, 1, DType::F64);
  Var o(vectors);
  OfMaps point(maps, positions, vectors, o, extra_key);
  hooks.attention(point);
  return hooks.evaluation().proxy;
}

double harmonic(std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 1; i <= n; ++i) sum += 1 / static_cast<double>(i);
  return sum;
}

const Weights kUniform = [](std::int64_t i, std::int64_t j) { return j <= i ? 1 / static_cast<double>(i + 1) : 0.0; };
const Weights kIdentity = [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : 0.0; };
const Weights kFullSink = [](std::int64_t, std::int64_t j) { return j == 0 ? 1.0 : 0.0; };

}  // namespace

TEST_CASE("sink score: uniform causal attention has alpha_k = (H_T - H_{k-1}) / (T - k + 1)") {
  SinkScores scores = scores_of({kUniform}, 64);
  CHECK(scores.alpha_1 == doctest::Approx(0.0741).epsilon(1e-3));  // the paper's own figure, H_64 / 64
  for (std::int64_t k = 1; k <= 10; ++k) {
    double expected = (harmonic(64) - harmonic(k - 1)) / static_cast<double>(64 - k + 1);
    CHECK(scores.alpha_k[static_cast<std::size_t>(k - 1)] == doctest::Approx(expected).epsilon(1e-12));
    CHECK(scores.sink_k[static_cast<std::size_t>(k - 1)] == 0);
  }
  CHECK_FALSE(scores.has_star());
}

TEST_CASE("sink score: every token attending to itself has alpha_k = 1 / (T - k + 1), above 0.3 for the last three") {
  SinkScores scores = scores_of({kIdentity}, 10);
  for (std::size_t k = 1; k <= 10; ++k) {
    CHECK(scores.alpha_k[k - 1] == doctest::Approx(1 / static_cast<double>(10 - k + 1)));
    CHECK(scores.sink_k[k - 1] == (k >= 8 ? 100 : 0));
  }
}

TEST_CASE("sink score: all rows on the first token have alpha_1 = 1 and nothing else") {
  SinkScores scores = scores_of({kFullSink}, 64);
  CHECK(scores.alpha_1 == doctest::Approx(1));
  for (std::size_t e = 0; e < 3; ++e) CHECK(scores.sink_1[e] == doctest::Approx(100));
  CHECK(scores.alpha_k[1] == 0);
}

TEST_CASE("sink score: the indicator of each sequence comes first, the mean afterwards") {
  // alpha_1 = 1 and 0.0741: their mean is above every epsilon, but only one sequence has a sink.
  SinkScores scores = scores_of({kFullSink, kUniform}, 64);
  CHECK(scores.alpha_1 > 0.5);
  for (std::size_t e = 0; e < 3; ++e) CHECK(scores.sink_1[e] == doctest::Approx(50));
}

TEST_CASE("sink score: epsilon itself is not above epsilon") {
  Weights constant = [](std::int64_t, std::int64_t) { return 0.3; };
  SinkScores scores = scores_of({constant}, 1);  // one row, so that alpha_1 is this very number
  CHECK(scores.alpha_1 == kSinkEpsilons[1]);
  CHECK(scores.sink_1[0] == doctest::Approx(100));
  CHECK(scores.sink_1[1] == 0);
}

TEST_CASE("sink score: weights that are NaN have no share of sinks") {
  SinkScores scores = scores_of({kFullSink, [](std::int64_t, std::int64_t) { return std::nan(""); }}, 64);
  for (std::size_t e = 0; e < 3; ++e) CHECK(std::isnan(scores.sink_1[e]));
}

TEST_CASE("sink score: an extra key or sink token whose weights are NaN has no share of sinks") {
  const Weights nan = [](std::int64_t, std::int64_t) { return std::nan(""); };
  for (const auto& [extra_tokens, extra_key] : {std::pair<std::int64_t, bool>{0, true}, {1, false}}) {
    SinkScores scores = scores_of({kFullSink, nan}, 64, extra_tokens, extra_key);
    REQUIRE(scores.has_star());
    CHECK(std::isnan(scores.alpha_star));
    for (std::size_t e = 0; e < 3; ++e) CHECK(std::isnan(scores.sink_star[e]));
  }
}

TEST_CASE("sink score: an extra key has a row of its own, 1 on itself, and T + 1 rows") {
  Weights half = [](std::int64_t i, std::int64_t j) { return j == -1 ? 0.5 : i == j ? 0.5 : 0.0; };
  SinkScores scores = scores_of({half}, 64, 0, true);
  REQUIRE(scores.has_star());
  CHECK(scores.alpha_star == doctest::Approx((1 + 64 * 0.5) / 65));
  CHECK(scores.sink_star[2] == doctest::Approx(100));
  CHECK(scores.alpha_1 == doctest::Approx(0.5 / 64));  // real tokens keep T - k + 1
}

TEST_CASE("sink score: a sink token is scored over T + 1 rows, real tokens follow it with T - k + 1") {
  // Position 0 of 65 is the sink token.
  Weights half = [](std::int64_t i, std::int64_t j) {
    if (i == 0) return j == 0 ? 1.0 : 0.0;
    return j == 0 ? 0.75 : j == 1 ? 0.25 : 0.0;
  };
  SinkScores scores = scores_of({half}, 65, 1);
  REQUIRE(scores.has_star());
  CHECK(scores.alpha_star == doctest::Approx((1 + 64 * 0.75) / 65));
  CHECK(scores.alpha_1 == doctest::Approx(0.25));  // 64 rows of 0.25, denominator 64
  CHECK(scores.alpha_k[1] == 0);
  CHECK(scores.alpha_k.size() == 10);
}

TEST_CASE("sink score: under a window alpha_k is the mean over the queries that see key k, of a sink token too") {
  constexpr std::int64_t kWindow = 8;
  const auto sees = [](std::int64_t i, std::int64_t j) { return j <= i && i - j < kWindow; };
  const Weights full_sink = [=](std::int64_t i, std::int64_t j) { return sees(i, j) && j == 0 ? 1.0 : 0.0; };
  const Weights even = [=](std::int64_t i, std::int64_t j) {
    return sees(i, j) ? 1 / static_cast<double>(std::min(i + 1, kWindow)) : 0.0;
  };
  for (std::int64_t T : {8, 9, 28, 64}) {  // window / T is 1, 0.89, 0.29 and 0.125: two are below every threshold
    const SinkScores sink = scores_of({full_sink}, T, 0, false, kWindow),
                     flat = scores_of({even}, T, 0, false, kWindow);
    CHECK(sink.alpha_1 == 1);
    CHECK(sink.sink_k[0] == 100);
    for (std::int64_t k = 1; k <= std::min(T, kSinkPositions); ++k) {  // rows k ... k + 7
      const std::int64_t rows = std::min(kWindow, T - k + 1), growing = std::max<std::int64_t>(0, kWindow - k + 1);
      double sum = static_cast<double>(rows - std::min(rows, growing)) / kWindow;
      for (std::int64_t i = k; i < k + std::min(rows, growing); ++i) sum += 1 / static_cast<double>(i);
      CHECK(flat.alpha_k[static_cast<std::size_t>(k - 1)] ==
            doctest::Approx(sum / static_cast<double>(rows)).epsilon(1e-12));
    }
    const SinkScores token = scores_of({full_sink}, T + 1, 1, false, kWindow);
    REQUIRE(token.has_star());
    CHECK(token.alpha_star == 1);
    CHECK(token.sink_star[kPaperEpsilonIndex] == 100);
  }
}

TEST_CASE("sink score: with documents a key's attention is divided by the rows of its own document") {
  // Two sequences of 6 tokens: documents of 2 and 4 tokens, and one of 6. Every row gives all to its document's first.
  AlphaTable table(2, 1, 1, 6, 4);
  Tensor sums = Tensor::from<double>({2, 1, 4}, {2, 0, 4, 0, 6, 0, 0, 0});
  Tensor starts = Tensor::from<std::int32_t>({2, 6}, {0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0});
  const Sizes sizes{.layers = 1, .context = 6};
  table.store(0, 0, sums, rows_that_see(sizes, 0, 6, 0, 2, 4, {starts, {}}), 0, false, Tensor());
  SinkScores scores = table.scores();
  CHECK(scores.alpha_k == std::vector<double>{1, 0, 0.5, 0});
  CHECK(scores.sink_k == std::vector<double>{100, 0, 50, 0});
  table.store(0, 0, sums, rows_that_see(sizes, 0, 6, 0, 2, 4), 0, false,
              Tensor());  // without a mask all rows could see it
  CHECK(table.scores().alpha_k[0] == doctest::Approx((2.0 / 6 + 1) / 2));
}

TEST_CASE("sink score: means are those of terms added in the order of sequences, layers and heads, to the bit") {
  constexpr std::int64_t N = 5, L = 3, H = 4, T = 16, K = 10, kAll = N * L * H;
  const Rng rng(1, "sink score");
  std::vector<double> values{1};  // there are scores of an extra key
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kAll * (K + 1)); ++i) values.push_back(rng.uniform(i, 0));
  AlphaTable table(N, L, H, T, K);
  table.set_values(0, values);

  std::vector<double> alpha_k(K, 0.0), alpha_head(K, 0.0);
  double star = 0, star_sink = 0;
  for (std::int64_t r = 0; r < kAll; ++r) {
    for (std::int64_t k = 0; k < K; ++k) {
      const double alpha = values[static_cast<std::size_t>(1 + r * K + k)];
      alpha_k[static_cast<std::size_t>(k)] += alpha / static_cast<double>(kAll);
      if (r % (L * H) == 2 * H + 1) alpha_head[static_cast<std::size_t>(k)] += alpha / static_cast<double>(N);
    }
    const double alpha = values[static_cast<std::size_t>(1 + kAll * K + r)];
    star += alpha / static_cast<double>(kAll);
    star_sink += (alpha > 0.3) * 100 / static_cast<double>(kAll);
  }
  const SinkScores scores = table.scores();
  CHECK(scores.alpha_k == alpha_k);
  CHECK(scores.alpha_layer_head_k[2][1] == alpha_head);
  CHECK(scores.alpha_1_layer_head[2][1] == alpha_head[0]);
  REQUIRE(scores.has_star());
  CHECK(scores.alpha_star == star);
  CHECK(scores.sink_star[kPaperEpsilonIndex] == star_sink);
}
