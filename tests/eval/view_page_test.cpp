// The patterns that a page of `view` holds: as many weights as it can, close to the exact ones, sums over cells, or
// queries and keys.
#include "eval/attention/view_page.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/tensor_view.h"
#include "eval/attention/long_view.h"
#include "eval/input_tokens.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;

namespace {

// The bytes of base64.
std::string bytes_of(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255u);
  }
  return bytes;
}

// The weights that a page makes of a text: bytes, each 255 sqrt(weight).
std::vector<double> weights_of(const std::string& text) {
  std::vector<double> weights;
  for (char byte : bytes_of(text)) weights.push_back(std::pow(static_cast<unsigned char>(byte) / 255.0, 2));
  return weights;
}

// Causal weights whose rows sum to one: (i, j) has (j + 1) / sum_{k <= i} (k + 1).
Tensor causal_weights(std::size_t T) {
  Tensor weights_TT = Tensor::zeros({static_cast<std::int64_t>(T), static_cast<std::int64_t>(T)}, DType::F64);
  auto p = view<double, 2>(weights_TT);
  for (std::size_t i = 0; i < T; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      p(i, j) = static_cast<double>(j + 1) / (static_cast<double>((i + 1) * (i + 2)) / 2);
  return weights_TT;
}

}  // namespace

TEST_CASE("view: the weights of a short text are within 0.004, row by row") {
  for (std::size_t T : {1, 2, 3, 12}) {  // every remainder of base64
    CAPTURE(T);
    const Tensor weights_TT = causal_weights(T);
    const auto p = view<double, 2>(weights_TT);
    for (std::int64_t prefix : {0, 3}) {
      ViewMaps maps({.layers = 1, .heads = 1, .prefix = prefix}, static_cast<std::int64_t>(T));
      maps.add(weights_TT);
      CHECK(maps.cell() == 1);
      CHECK(maps.is_square() == (prefix > 0));
      const std::vector<double> weights = weights_of(maps.base64_LH().at(0));
      REQUIRE(weights.size() == (prefix > 0 ? T * T : T * (T + 1) / 2));
      std::size_t at = 0;
      for (std::size_t i = 0; i < T; ++i)
        for (std::size_t j = 0; j < (prefix > 0 ? T : i + 1); ++j) CHECK(std::abs(weights[at++] - p(i, j)) < 0.004);
    }
  }
}

TEST_CASE("view: a cell of a long text is the mean over its queries of the sum over its keys") {
  const std::size_t T = 1023;
  ViewMaps maps({.layers = 30, .heads = 9}, T);
  CHECK(maps.cell() == 4);
  maps.add(causal_weights(T));
  const std::vector<double> weights = weights_of(maps.base64_LH().at(0));
  REQUIRE(weights.size() == 256 * 257 / 2);
  // Row r of cells covers queries 4 r to 4 r + 3: a row of weights sums to one, so does a row of cells.
  for (std::size_t row : {0, 1, 100, 255}) {
    double sum = 0;
    for (std::size_t column = 0; column <= row; ++column) sum += weights[row * (row + 1) / 2 + column];
    CHECK(sum == doctest::Approx(1).epsilon(0.02));
  }
  double exact = 0;  // cell (1, 0): queries 4 to 7, keys 0 to 3, whose weights sum to 10 / ((i + 1) (i + 2) / 2)
  for (double i : {4, 5, 6, 7}) exact += 10 / ((i + 1) * (i + 2) / 2) / 4;
  CHECK(weights[1] == doctest::Approx(exact).epsilon(0.02));
}

namespace {

// The exact weights of all heads, while a page's content is collected.
struct ExactWeights final : SummaryVisitor {
  ViewContent& content;
  std::vector<Tensor> weights_LH;
  explicit ExactWeights(ViewContent& content) : content(content) {}
  void attention(const AttentionPoint& point) override { content.attention(point); }
  void pattern(const Tensor& weights_TT) override {
    content.pattern(weights_TT);
    weights_LH.push_back(weights_TT.clone());
  }
};

template <class X>
std::vector<X> values_of(const nlohmann::json& text, std::size_t from, std::size_t count) {
  const std::string bytes = bytes_of(text.get<std::string>());
  REQUIRE(bytes.size() >= from + count * sizeof(X));
  std::vector<X> values(count);
  std::memcpy(values.data(), bytes.data() + from, count * sizeof(X));
  return values;
}

// The pattern of a head, by softmax of the scores that the page's data make.
std::vector<double> computed_pattern(const nlohmann::json& data, std::size_t n, std::size_t heads, std::size_t T) {
  const auto D = data["width"].get<std::size_t>(), G = data["kv_heads"].get<std::size_t>();
  const nlohmann::json &q = data["q"][n], &k = data["k"][n / heads * G + n % heads / (heads / G)];
  const auto q_scale = values_of<float>(q, 0, T), k_scale = values_of<float>(k, 0, T);
  const auto Q = values_of<std::int8_t>(q, 4 * T, T * D), K = values_of<std::int8_t>(k, 4 * T, T * D);
  std::vector<float> bias(T, 0), share(T, 1);
  if (!data["bias"][n].is_null()) bias = values_of<float>(data["bias"][n], 0, T);
  if (!data["share"][n].is_null()) share = values_of<float>(data["share"][n], 0, T);
  const auto best = values_of<std::uint16_t>(data["largest"][n], 0, 2 * T);
  std::vector<double> weights(T * T, 0);
  for (std::size_t i = 0; i < T; ++i) {
    double others = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::size_t d = 0; d < D; ++d) dot += double{q_scale[i]} * Q[i * D + d] * double{k_scale[j]} * K[j * D + d];
      weights[i * T + j] = std::exp(dot + double{bias[i - j]});
      if (j != best[i]) others += weights[i * T + j];
    }
    const double stored = best[T + i] / 65535.0;
    for (std::size_t j = 0; j <= i; ++j)
      weights[i * T + j] = j == best[i] ? stored : weights[i * T + j] * (double{share[i]} - stored) / others;
  }
  return weights;
}

// Scores of several units, and biases that differ by head.
std::unique_ptr<LanguageModel> model_with_strong_scores(const char* ablation, const Sizes& sizes) {
  auto model = ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
  for (const auto& parameter : model->parameters()) {
    Tensor values = parameter->mutable_master().reshape({parameter->master().size()});
    if (parameter->name().ends_with("qkv.weight") || parameter->name().find("extra") != std::string::npos)
      view<double, 1>(values) *= 4;
    if (parameter->name().find("position") != std::string::npos)
      for (std::int64_t n = 0; n < values.size(); ++n) values.data<double>()[n] = std::sin(static_cast<double>(n));
  }
  model->parameters().refresh();
  return model;
}

}  // namespace

TEST_CASE("view: patterns computed from queries and keys of 8 bits are within the error that the page states") {
  struct Case {
    const char* ablation;
    std::int64_t window = 0, kv_heads = 0, prefix = 0;
    const char* why_not = "";
  };
  const Case cases[] = {{"baseline"},
                        {"baseline", 5},
                        {"baseline", 0, 2},
                        {"pos_alibi"},
                        {"pos_t5", 7, 2},
                        {"bias_k"},
                        {"bias_sinktoken", 6},
                        {"op_softmax1"},
                        {"scale_0_1"},
                        {"pnorm_exp_2"},
                        {"baseline", 0, 0, 3, "a prefix"},
                        {"op_clipped", 0, 0, 0, "the operation ClippedSoftmax"},
                        {"kern_mlp_none", 0, 0, 0, "the operation Linear"},
                        {"op_sigmoid_norm", 0, 0, 0, "the operation SigmoidNorm"}};
  constexpr std::size_t kHeads = 4, kT = 21;
  for (const Case& c : cases) {
    if (!test::is_built(c.ablation)) continue;
    CAPTURE(std::string(c.ablation));
    CAPTURE(c.window);
    const Sizes sizes{.layers = 2,
                      .heads = kHeads,
                      .width = 48,
                      .feed_forward = 24,
                      .context = 24,
                      .vocabulary = 23,
                      .kv_heads = c.kv_heads,
                      .window = c.window,
                      .prefix = c.prefix};  // D = 12: blocks of 4
    auto model = model_with_strong_scores(c.ablation, sizes);
    const Tensor tokens_1T = random_tokens(sizes.vocabulary, 1, kT, 7).tokens_BT();
    if (*c.why_not != 0) {
      std::string message;
      try {
        ViewContent content(*model, kT, {.patterns = ViewPatterns::computed});
        summarise_attention(*model, tokens_1T, &content);
      } catch (const Error& error) { message = error.what(); }
      CHECK(message.find(c.why_not) != std::string::npos);
      continue;
    }
    ViewContent content(*model, kT, {.patterns = ViewPatterns::computed, .lens_tokens = 0});
    ExactWeights exact(content);
    summarise_attention(*model, tokens_1T, &exact);
    REQUIRE(content.queries_keys() != nullptr);
    const nlohmann::json data = content.queries_keys()->json();
    CHECK(data["bias"][0].is_null() == (c.window == 0 && std::string(c.ablation).find("pos_") != 0));
    double largest = 0, sum = 0;
    for (std::size_t n = 0; n < 2 * kHeads; ++n) {
      const std::vector<double> weights = computed_pattern(data, n, kHeads, kT);
      const auto p = view<double, 2>(exact.weights_LH.at(n));
      double error = 0;
      for (std::size_t i = 0; i < kT; ++i)
        for (std::size_t j = 0; j < kT; ++j) {
          keep_worst(error, std::abs(weights[i * kT + j] - p(i, j)));
          sum += std::abs(weights[i * kT + j] - p(i, j));
        }
      CHECK(error == doctest::Approx(data["error"][n].get<double>()).epsilon(1e-6));
      keep_worst(largest, error);
    }
    CHECK(largest < 0.02);
    CHECK(content.queries_keys()->largest_error() == doctest::Approx(largest).epsilon(1e-6));
    CHECK(content.queries_keys()->mean_error() ==
          doctest::Approx(sum / (2 * kHeads * kT * (kT + 1) / 2)).epsilon(1e-6));
  }
}

namespace {

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "id=\"view-data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

// The pattern of a head in full, from the data of the page of a long text.
std::vector<double> full_pattern(const nlohmann::json& full, const nlohmann::json& head, std::size_t T) {
  const auto D = full["width"].get<std::size_t>(), prefix = full["prefix"].get<std::size_t>(),
             window = head["window"].get<std::size_t>();
  const nlohmann::json& k = full["keys"][head["k"].get<std::size_t>()];
  const auto q_scale = values_of<float>(head["q"], 0, T), k_scale = values_of<float>(k, 0, T);
  const auto Q = values_of<std::int16_t>(head["q"], 4 * T, T * D), K = values_of<std::int16_t>(k, 4 * T, T * D);
  std::vector<float> bias(T, 0), share(T, 1);
  if (!head["bias"].is_null()) bias = values_of<float>(head["bias"], 0, T);
  if (!head["share"].is_null()) share = values_of<float>(head["share"], 0, T);
  std::vector<double> weights(T * T, 0);
  for (std::size_t i = 0; i < T; ++i) {
    double all = 0;
    for (std::size_t j = 0; j < T; ++j) {
      if (j >= prefix && (j > i || (window > 0 && j + window <= i))) continue;
      double dot = 0;
      for (std::size_t d = 0; d < D; ++d) dot += double{q_scale[i]} * Q[i * D + d] * double{k_scale[j]} * K[j * D + d];
      weights[i * T + j] = std::exp(dot + double{bias[j > i ? 0 : i - j]});
      all += weights[i * T + j];
    }
    for (std::size_t j = 0; j < T; ++j) weights[i * T + j] *= double{share[i]} / all;
  }
  return weights;
}

const SummaryLabels kLabels{
    .model = "model", .ablation = "ablation", .policies = "policies", .token_text = [](std::int32_t) { return "x"; }};

}  // namespace

TEST_CASE("view of a long text: heads in full, pooled heads and what keys receive are those of the exact patterns") {
  struct Case {
    const char* ablation;
    std::int64_t window = 0, kv_heads = 0, prefix = 0;
    const char* why_not = "";
  };
  const Case cases[] = {{"baseline"},
                        {"baseline", 5, 2},
                        {"baseline", 0, 0, 3},
                        {"baseline", 5, 0, 3},
                        {"pos_alibi"},
                        {"pos_t5", 7, 2},
                        {"pos_t5", 0, 0, 3},
                        {"pos_t5", 7, 0, 3, "a prefix and a bias"},
                        {"bias_k"},
                        {"op_softmax1"},
                        {"scale_0_1"},
                        {"pnorm_exp_2"},
                        {"op_clipped", 0, 0, 0, "the operation ClippedSoftmax"},
                        {"op_sigmoid_norm", 0, 0, 0, "the operation SigmoidNorm"}};
  constexpr std::size_t kHeads = 4, kT = 21, kD = 12;
  const std::vector<LayerHead> all_LH{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}};
  for (const Case& c : cases) {
    if (!test::is_built(c.ablation)) continue;
    CAPTURE(std::string(c.ablation));
    CAPTURE(c.window);
    CAPTURE(c.prefix);
    const Sizes sizes{.layers = 2,
                      .heads = kHeads,
                      .width = kHeads * kD,
                      .feed_forward = 24,
                      .context = 24,
                      .vocabulary = 23,
                      .kv_heads = c.kv_heads,
                      .window = c.window,
                      .prefix = c.prefix};
    auto model = model_with_strong_scores(c.ablation, sizes);
    const Tensor tokens_1T = random_tokens(sizes.vocabulary, 1, kT, 7).tokens_BT();
    LongView view(*model, kT, all_LH);
    const AttentionSummary summary = summarise_attention(*model, tokens_1T, &view);
    const nlohmann::json data = data_of(view.page(summary, kLabels));
    ViewContent content(*model, kT, {.patterns = ViewPatterns::stored, .lens_tokens = 0});
    ExactWeights exact(content);
    summarise_attention(*model, tokens_1T, &exact);
    const auto cell = data["cell"].get<std::size_t>(), X = (kT + cell - 1) / cell;
    CHECK(cell == 2);
    double worst_pooled = 0, worst_received = 0;
    std::vector<double> received_LT(2 * kT, 0);
    for (std::size_t n = 0; n < 2 * kHeads; ++n) {
      const auto p = sink::view<double, 2>(exact.weights_LH.at(n));
      std::vector<double> pooled(X * X, 0);
      for (std::size_t i = 0; i < kT; ++i)
        for (std::size_t j = 0; j < kT; ++j) {
          pooled[i / cell * X + j / cell] += p(i, j) / static_cast<double>(std::min(cell, kT - i / cell * cell));
          received_LT[n / kHeads * kT + j] += p(i, j) / kT / kHeads;
        }
      const std::string bytes = bytes_of(data["maps"][n].get<std::string>());
      std::size_t at = 0;
      for (std::size_t x = 0; x < X; ++x)
        for (std::size_t y = 0; y < (c.prefix > 1 ? X : x + 1); ++y)
          keep_worst(worst_pooled,
                     std::abs(255 * std::sqrt(pooled[x * X + y]) - static_cast<unsigned char>(bytes[at++])));
      CHECK(at == bytes.size());
    }
    for (std::size_t l = 0; l < 2; ++l) {
      const auto received = values_of<std::uint16_t>(data["received"][l], 0, kT);
      for (std::size_t t = 0; t < kT; ++t)
        keep_worst(worst_received, std::abs(65535 * std::sqrt(received_LT[l * kT + t]) - received[t]));
    }
    CHECK(worst_pooled < 0.51);
    CHECK(worst_received < 0.51);
    const nlohmann::json& full = data["full"];
    CHECK(full["why_not"].get<std::string>().find(c.why_not) != std::string::npos);
    REQUIRE(full["heads"].size() == (*c.why_not ? 0 : 2 * kHeads));
    if (!*c.why_not) CHECK(full["keys"].size() == static_cast<std::size_t>(2 * sizes.key_heads()));
    for (const nlohmann::json& head : full["heads"]) {
      const auto n = head["layer"].get<std::size_t>() * kHeads + head["head"].get<std::size_t>();
      const auto p = sink::view<double, 2>(exact.weights_LH.at(n));
      const auto error = head["error"].get<double>();
      CHECK(error < 0.01);
      const std::vector<double> weights = full_pattern(full, head, kT);
      double worst = 0;
      for (std::size_t i = 0; i < kT; ++i)
        for (std::size_t j = 0; j < kT; ++j)
          keep_worst(worst, std::abs(weights[i * kT + j] - p(i, j)) - error * p(i, j));
      CHECK(worst < 2e-6);  // of biases and shares in float
    }
  }
}

TEST_CASE("view of a long text: heads in full are the first two by each rule; what the page cannot show is refused") {
  const Sizes sizes{.layers = 5, .heads = 4, .width = 32, .feed_forward = 24, .context = 24, .vocabulary = 23};
  auto model = model_with_strong_scores("baseline", sizes);
  const Tensor tokens_1T = random_tokens(sizes.vocabulary, 1, 24, 7).tokens_BT();
  LongView view(*model, 24, {});
  const AttentionSummary summary = summarise_attention(*model, tokens_1T, &view);
  const nlohmann::json full = data_of(view.page(summary, kLabels))["full"];
  std::vector<std::pair<double, LayerHead>> by_alpha;
  for (const HeadSummary& head : summary.head_LH) by_alpha.push_back({head.alpha_1(), {head.layer, head.head}});
  std::sort(by_alpha.begin(), by_alpha.end());
  auto is_at = [&](std::size_t n, const LayerHead& place, const char* rule) {
    CHECK(full["heads"][n]["layer"] == place.first);
    CHECK(full["heads"][n]["head"] == place.second);
    CHECK(full["heads"][n]["rule"] == rule);
  };
  CHECK(full["heads"].size() >= 5);
  CHECK(full["heads"].size() <= 10);
  is_at(0, by_alpha.back().second, "largest alpha_1");
  is_at(1, by_alpha.front().second, "smallest alpha_1");

  CHECK(layer_heads({"4.3", "0.0", "4.3"}, sizes) == std::vector<LayerHead>{{4, 3}, {0, 0}});
  for (const char* text : {"5.0", "0.4", "1", "1.", "-1.2", "a.b", "1.2.3", ""}) {
    CAPTURE(text);
    check_refused([&] { layer_heads({text}, sizes); }, {"LAYER.HEAD", text}, Exit::usage);
  }
  check_refused(
      [&] {
        LongView(*model, 2'000'000, {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}});
      },
      {"a page can have 3"}, Exit::usage);
  if (test::is_built("bias_sinktoken"))
    check_refused([&] { LongView(*model_with_strong_scores("bias_sinktoken", sizes), 24, {}); }, {"sink token"},
                  Exit::usage);
  if (test::is_built("kern_mlp_none")) {  // weights of both signs
    auto both = model_with_strong_scores("kern_mlp_none", sizes);
    LongView signs(*both, 24, {});
    check_refused([&] { summarise_attention(*both, tokens_1T, &signs); }, {"weights of one sign"}, Exit::bad_input);
  }
}
