// Sinks of packed sequences with a document mask: each document has the scores of a sequence with that document only.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/tensor_view.h"
#include "eval/sink/evaluation.h"
#include "tests/model/model_support.h"

using namespace sink;
using namespace sink::test;
using doctest::Approx;

namespace {

constexpr std::int64_t kN = 3, kT = 13, kV = 31;
constexpr std::size_t kLayers = 2, kHeads = 3;

struct Case {
  const char* ablation;
  bool rows_sum_to_one, reset_positions;
  bool extra_key = false, sink_token = false;
  bool has_star() const { return extra_key || sink_token; }
};

// Without learned positions and extra keys, documents have the same patterns wherever positions begin. A sink token is
// in every sequence once, so documents of such a model cannot be read alone.
const std::vector<Case> kCases{{"baseline", true, false},
                               {"baseline", true, true},
                               {"pos_learnable", true, true},
                               {"op_sigmoid_none", false, false},
                               {"op_sigmoid_none", false, true},
                               {"bias_kv", true, true, /*extra_key=*/true},
                               {"bias_sinktoken", true, false, /*extra_key=*/false, /*sink_token=*/true}};

struct Document {
  std::int64_t begin, end;
};
const std::vector<std::vector<Document>> kDocuments{
    {{0, 5}, {5, 6}, {6, kT}}, {{0, 1}, {1, 9}, {9, kT}}, {{0, 4}, {4, 8}, {8, kT}}};

// Those of the first T tokens of sequence n.
std::vector<Document> documents_of(std::int64_t n, std::int64_t T) {
  std::vector<Document> documents;
  for (const Document& d : kDocuments[static_cast<std::size_t>(n)])
    if (d.begin < T) documents.push_back({d.begin, std::min(d.end, T)});
  return documents;
}

DocumentPlaces places(bool reset_positions) {
  DocumentPlaces all{Tensor::empty({kN, kT}, DType::I32),
                     reset_positions ? Tensor::empty({kN, kT}, DType::I32) : Tensor()};
  for (std::int64_t n = 0; n < kN; ++n)
    for (const Document& d : documents_of(n, kT))
      for (std::int64_t t = d.begin; t < d.end; ++t) {
        all.starts_BT.data<std::int32_t>()[n * kT + t] = static_cast<std::int32_t>(d.begin);
        if (reset_positions) all.positions_BT.data<std::int32_t>()[n * kT + t] = static_cast<std::int32_t>(t - d.begin);
      }
  return all;
}

// With larger queries, keys and extra keys than initial ones, so that patterns are far from uniform.
std::unique_ptr<LanguageModel> model_of(const Case& c) {
  auto model = make_model(c.ablation);
  for (const auto& parameter : model->parameters()) {
    const bool qkv = parameter->name().ends_with("qkv.weight");
    if (qkv || parameter->name().find("extra") != std::string::npos)
      set(*model, parameter->name(), [&](std::int64_t, double value) { return (qkv ? 3 : 40) * value; });
  }
  return model;
}

// Of one kind of weights in one sequence, layer and head.
struct Alphas {
  std::vector<double> alpha = std::vector<double>(static_cast<std::size_t>(kT));  // real keys
  double star = 0;                                                                // of the extra key or sink token
};

// Adds the weights of a document. Its queries are the rows from first_row on, its keys the columns from first_column
// on; an extra key or sink token is column 0.
void add_document(Alphas& sums, const Case& c, bool proxy, const Document& d, const Tensor& pattern,
                  std::int64_t first_row, std::int64_t first_column) {
  auto a = view<double, 2>(pattern);
  const std::int64_t length = d.end - d.begin;
  for (std::int64_t i = first_row; i < first_row + length; ++i) {
    double absolute_sum = 0;
    for (std::int64_t j = 0; j < pattern.dim(1); ++j) absolute_sum += std::abs(a(i, j));
    const auto weight = [&](std::int64_t j) {
      return !proxy || c.rows_sum_to_one ? a(i, j) : std::abs(a(i, j)) / (absolute_sum + 1e-8);
    };
    double of_document = c.has_star() ? weight(0) : 0;
    for (std::int64_t j = 0; j < length; ++j) {
      sums.alpha[static_cast<std::size_t>(d.begin + j)] += weight(first_column + j) / static_cast<double>(length - j);
      of_document += weight(first_column + j);
    }
    if (c.rows_sum_to_one) CHECK(of_document == Approx(1));  // no other document has weight
    if (c.has_star()) sums.star += weight(0);
  }
}

struct Measured {
  Alphas raw, proxy;
};

// Of the first T tokens of a sequence: [layer * kHeads + head].
std::vector<Measured> measured_of(LanguageModel& model, const Case& c, const Batch& packed, std::int64_t n,
                                  std::int64_t T) {
  std::vector<Measured> measured(kLayers * kHeads);
  const auto add = [&](const Document& d, const Watcher& seen, std::int64_t first_row, std::int64_t first_column) {
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const Tensor& pattern = seen.map_LH[i / kHeads][i % kHeads];
      add_document(measured[i].raw, c, false, d, pattern, first_row, first_column);
      add_document(measured[i].proxy, c, true, d, pattern, first_row, first_column);
    }
  };
  if (c.sink_token) {
    Watcher seen;
    model.loss(packed.rows(n, n + 1).first(T), 1, {.hooks = &seen});
    for (const Document& d : documents_of(n, T)) add(d, seen, 1 + d.begin, 1 + d.begin);
  } else {
    for (const Document& d : documents_of(n, T)) {
      Tensor alone = Tensor::empty({1, d.end - d.begin}, DType::I32);
      std::copy_n(packed.tokens_BT().data<std::int32_t>() + n * kT + d.begin, alone.size(), alone.data<std::int32_t>());
      Watcher seen;
      model.loss(Batch(alone, alone, kV), 1, {.hooks = &seen});
      add(d, seen, 0, c.extra_key ? 1 : 0);
    }
  }
  // A sink token and an extra key have a row of their own, with weight 1 on themselves.
  for (Measured& m : measured)
    for (Alphas* sums : {&m.raw, &m.proxy}) sums->star = (1 + sums->star) / static_cast<double>(T + 1);
  return measured;
}

void check_scores(const SinkScores& scores, const std::vector<std::vector<Measured>>& measured_N, const Case& c,
                  bool proxy, std::int64_t T) {
  const auto K = static_cast<std::size_t>(std::min(T, kSinkPositions));
  const double all = kN * kLayers * kHeads;
  std::vector<double> alpha_k(K), star_sink(3);
  ValueTable sink_k(3, std::vector<double>(K));
  double star = 0;
  REQUIRE(scores.alpha_k.size() == K);
  for (std::size_t i = 0; i < kLayers * kHeads; ++i) {
    std::vector<double> alpha_of_head(K);
    for (const auto& measured : measured_N) {
      const Alphas& one = proxy ? measured[i].proxy : measured[i].raw;
      for (std::size_t k = 0; k < K; ++k) {
        alpha_of_head[k] += one.alpha[k] / kN;
        alpha_k[k] += one.alpha[k] / all;
        for (std::size_t e = 0; e < 3; ++e) sink_k[e][k] += one.alpha[k] > kSinkEpsilons[e] ? 100 / all : 0;
      }
      star += one.star / all;
      for (std::size_t e = 0; e < 3; ++e) star_sink[e] += one.star > kSinkEpsilons[e] ? 100 / all : 0;
    }
    for (std::size_t k = 0; k < K; ++k)
      CHECK(scores.alpha_layer_head_k[i / kHeads][i % kHeads][k] == Approx(alpha_of_head[k]).epsilon(1e-9));
  }
  for (std::size_t k = 0; k < K; ++k) {
    CHECK(scores.alpha_k[k] == Approx(alpha_k[k]).epsilon(1e-9));
    for (std::size_t e = 0; e < 3; ++e) CHECK(scores.sink_k_epsilon[e][k] == Approx(sink_k[e][k]).epsilon(1e-9));
  }
  REQUIRE(scores.has_star() == c.has_star());
  if (!scores.has_star()) return;
  CHECK(scores.alpha_star == Approx(star).epsilon(1e-9));
  for (std::size_t e = 0; e < 3; ++e) CHECK(scores.sink_star[e] == Approx(star_sink[e]).epsilon(1e-9));
}

// alpha of key k of even attention: row i of its document sees i - begin + 1 keys, and an extra key or sink token.
double even_alpha_of(std::int64_t n, std::int64_t k, bool has_star) {
  for (const Document& d : documents_of(n, kT)) {
    if (k < d.begin || k >= d.end) continue;
    double sum = 0;
    for (std::int64_t i = k; i < d.end; ++i) sum += 1 / static_cast<double>(i - d.begin + 1 + has_star);
    return sum / static_cast<double>(d.end - k);
  }
  return NAN;
}

}  // namespace

TEST_CASE("packed evaluation: scores of every document, by length too, and of a fixed token are those of it alone") {
  for (const Case& c : kCases) {
    CAPTURE(c.ablation);
    CAPTURE(c.reset_positions);
    if (!is_built(c.ablation)) continue;
    auto model = model_of(c);
    REQUIRE(model->extra_tokens() == (c.sink_token ? 1 : 0));
    Tensor tokens = random_tokens(kN, kT, kV - 1);
    const FixedToken fixed{kV - 1, 1, 10};
    const std::vector<std::int64_t> place{7, 3, 6};  // from 0, in the third and twice in the second document
    for (std::int64_t n = 0; n < kN; ++n)
      tokens.data<std::int32_t>()[n * kT + place[static_cast<std::size_t>(n)]] = fixed.id;
    const Batch packed(tokens, tokens, kV, places(c.reset_positions));

    Evaluation e = evaluate(*model, packed, /*batch=*/2, /*with_patterns=*/false, {}, fixed);
    add_sinks_by_length(*model, packed, /*batch=*/2, {kSinkEpsilons.begin(), kSinkEpsilons.end()}, {7, kT}, e);
    for (std::int64_t T : {std::int64_t{7}, kT}) {
      CAPTURE(T);
      std::vector<std::vector<Measured>> measured_N;
      for (std::int64_t n = 0; n < kN; ++n) measured_N.push_back(measured_of(*model, c, packed, n, T));
      const std::size_t at = T == kT ? 1 : 0;
      check_scores(e.by_length.raw[at], measured_N, c, false, T);
      check_scores(e.by_length.proxy[at], measured_N, c, true, T);
      if (T != kT) continue;
      check_scores(e.raw, measured_N, c, false, T);
      check_scores(e.proxy, measured_N, c, true, T);

      double alpha = 0, even = 0;
      for (std::size_t n = 0; n < kN; ++n) {
        for (const Measured& m : measured_N[n])
          alpha += m.proxy.alpha[static_cast<std::size_t>(place[n])] / (kLayers * kHeads);
        even += even_alpha_of(static_cast<std::int64_t>(n), place[n], c.has_star());
      }
      REQUIRE(!std::isnan(e.alpha_fixed));
      CHECK(e.alpha_fixed == Approx(alpha / kN).epsilon(1e-9));
      CHECK(e.alpha_fixed_over_even == Approx(alpha / even).epsilon(1e-9));
    }
  }
}
