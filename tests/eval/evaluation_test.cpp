// Values of an Evaluation that golden models do not have (transformer_golden_test compares alpha, sinks, sums, norms
// and products with PyTorch's), against direct sums over whole attention patterns and vectors of small models in
// double.
#include "eval/sink/evaluation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/sink/attention_patterns.h"
#include "eval/sink/evaluation_json.h"
#include "eval/sink/evaluation_table.h"
#include "eval/sink/even_attention.h"
#include "tests/support/built_ablations.h"

using namespace sink;

namespace {

using Approx = doctest::Approx;
constexpr std::int64_t kN = 5, kT = 13;

struct Case {
  const char* ablation;
  Evaluation::Extra extra = Evaluation::Extra::none;
  std::int64_t kv_heads = 0, window = 0, prefix = 0;
};

Sizes sizes_of(const Case& c) {
  return {.layers = 2,
          .heads = 4,
          .width = 32,
          .feed_forward = 24,
          .context = 16,
          .vocabulary = 23,
          .kv_heads = c.kv_heads,
          .window = c.window,
          .prefix = c.prefix};
}

// With larger queries and keys than initial ones, so that maps are far from uniform and some heads have sinks.
std::unique_ptr<LanguageModel> model_of(const Case& c) {
  auto model = ablation_named(c.ablation).make_model(sizes_of(c), InitScheme::torch, 3, DType::F64);
  for (const auto& parameter : model->parameters()) {
    if (!parameter->name().ends_with("qkv.weight") && parameter->name().find("extra") == std::string::npos) continue;
    Tensor values = parameter->mutable_master().reshape({parameter->master().size()});
    view<double, 1>(values) *= parameter->name().ends_with("qkv.weight") ? 3 : 40;
  }
  model->parameters().refresh();
  return model;
}

// Keeps whole maps and vectors.
struct Everything final : HiddenStateHooks {
  struct Layer {
    Tensor v_BGTD;
    std::vector<Tensor> maps_BH;
  };
  void hidden_state(std::int64_t l, const Tensor& x_BTC) override { states[l] = x_BTC.clone(); }
  void attention(AttentionPoint& view) override {
    Layer layer{view.v_BGTD.clone(), {}};
    for (std::int64_t bh = 0; bh < view.q_BHTD.dim(0) * view.q_BHTD.dim(1); ++bh)
      layer.maps_BH.push_back(view.pattern(bh / view.q_BHTD.dim(1), bh % view.q_BHTD.dim(1)));
    layers.push_back(layer);
  }
  std::map<std::int64_t, Tensor> states;
  std::vector<Layer> layers;
};

// Row r of x seen as rows of its last axis.
std::vector<double> row(const Tensor& x, std::int64_t r) {
  auto x_RC = view<double, 2>(x.reshape({x.size() / x.dim(-1), x.dim(-1)}));
  std::vector<double> found;
  for (std::size_t c = 0; c < x_RC.shape(1); ++c) found.push_back(x_RC(r, c));
  return found;
}
double norm(const std::vector<double>& x) {
  double squares = 0;
  for (double x_d : x) squares += x_d * x_d;
  return std::sqrt(squares);
}
double mean_of(const ValueTable& table) {
  double sum = 0, count = 0;
  for (const std::vector<double>& row : table)
    for (double value : row) sum += value, ++count;
  return sum / count;
}

bool sees(const Case& c, std::int64_t extra_tokens, std::int64_t i, std::int64_t j) {
  std::int64_t prefix = c.prefix > 0 ? c.prefix + extra_tokens : 0;
  return j < prefix || (j <= i && (c.window == 0 || j > i - c.window));
}

// The mean share of the first value in the output of a head and sequence. `extra_v` is the extra key's value; empty: it
// has none.
double value_share_of(const Tensor& map, const Tensor& v_BGTD, std::int64_t bg, const Case& c, std::int64_t X,
                      const std::vector<double>& extra_v) {
  std::int64_t P = v_BGTD.dim(2), E = map.dim(1) - P;
  auto a = view<double, 2>(map);
  double shares = 0, queries = 0;
  for (std::int64_t i = 1; i < P; ++i) {
    if (!sees(c, X, i, 0)) continue;
    double all = E > 0 ? std::abs(a(i, 0)) * norm(extra_v) : 0;
    for (std::int64_t j = 0; j < P; ++j) all += std::abs(a(i, E + j)) * norm(row(v_BGTD, bg * P + j));
    shares += std::abs(a(i, E)) * norm(row(v_BGTD, bg * P)) / all;
    ++queries;
  }
  return queries > 0 ? shares / queries : 0;
}

void check_value_shares(LanguageModel& model, const Evaluation& e, const Case& c, const Everything& seen,
                        std::int64_t X) {
  double mean = 0;
  for (std::size_t l = 0; l < seen.layers.size(); ++l)
    for (std::size_t h = 0; h < 4; ++h) {
      std::vector<double> extra_v;
      for (const auto& parameter : model.parameters())
        if (parameter->name() == "blocks." + std::to_string(l) + ".attention.extra.value")
          extra_v = row(parameter->master(), static_cast<std::int64_t>(h));
      std::int64_t G = seen.layers[l].v_BGTD.dim(1);
      double share = 0;
      for (std::int64_t b = 0; b < kN; ++b)
        share += value_share_of(seen.layers[l].maps_BH[static_cast<std::size_t>(b) * 4 + h], seen.layers[l].v_BGTD,
                                b * G + static_cast<std::int64_t>(h) / (4 / G), c, X, extra_v) /
                 kN;
      CHECK(e.value_share_layer_head[l][h] == Approx(share).epsilon(1e-9));
      mean += share / 8;
    }
  CHECK(e.value_share == Approx(mean).epsilon(1e-9));
}

// By the moments themselves: E x^4 - 4 m E x^3 + 6 m^2 E x^2 - 3 m^4 over the squared variance.
void check_kurtosis(const Evaluation& e, const Everything& seen) {
  for (const auto& [layer, x] : seen.states)
    for (std::int64_t t = 0; t < x.dim(1); ++t) {
      double kurtosis = 0, largest = 0;
      for (std::int64_t b = 0; b < kN; ++b) {
        std::vector<double> numbers = row(x, b * x.dim(1) + t);
        double m1 = 0, m2 = 0, m3 = 0, m4 = 0, n = static_cast<double>(numbers.size()), top = 0;
        for (double number : numbers) {
          m1 += number / n, m2 += std::pow(number, 2) / n;
          m3 += std::pow(number, 3) / n, m4 += std::pow(number, 4) / n;
          top = std::max(top, std::abs(number));
        }
        double variance = m2 - m1 * m1;
        kurtosis += (m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * std::pow(m1, 4)) / (variance * variance) / kN;
        largest += top / kN;
      }
      CHECK(e.hidden_kurtosis[static_cast<std::size_t>(layer)][static_cast<std::size_t>(t)] ==
            Approx(kurtosis).epsilon(1e-7));
      CHECK(e.hidden_largest[static_cast<std::size_t>(layer)][static_cast<std::size_t>(t)] ==
            Approx(largest).epsilon(1e-12));
    }
}

// From the logits; a target of -1 counts nowhere.
void check_loss_by_position(LanguageModel& model, const Batch& input, const Evaluation& e) {
  Tensor logits_BTV = model.logits(input.tokens_BT());
  std::int64_t V = logits_BTV.dim(2);
  REQUIRE(e.loss_by_position.size() == kT);
  for (std::int64_t t = 0; t < kT; ++t) {
    double loss = 0, targets = 0;
    for (std::int64_t b = 0; b < kN; ++b) {
      std::int32_t target = input.targets_BT().data<std::int32_t>()[b * kT + t];
      if (target < 0) continue;
      double sum = 0;
      for (std::int64_t v = 0; v < V; ++v) sum += std::exp(logits_BTV.item((b * kT + t) * V + v));
      loss += std::log(sum) - logits_BTV.item((b * kT + t) * V + target);
      ++targets;
    }
    double found = e.loss_by_position[static_cast<std::size_t>(t)];
    if (targets == 0)
      CHECK(std::isnan(found));
    else
      CHECK(found == Approx(loss / targets).epsilon(1e-10));
  }
}

const std::vector<Case> kCases{
    {"baseline"},
    {"baseline", Evaluation::Extra::none, 2, 0, 0},
    {"baseline", Evaluation::Extra::none, 0, 5, 0},
    {"baseline", Evaluation::Extra::none, 0, 5, 3},
    {"bias_kv", Evaluation::Extra::key},
    {"bias_k", Evaluation::Extra::key, 0, 6, 2},
    {"op_softmax1", Evaluation::Extra::key},
    {"op_sink_logit", Evaluation::Extra::key, 2},
    {"bias_sinktoken", Evaluation::Extra::token},
    {"bias_sinktoken", Evaluation::Extra::token, 0, 5, 0},
    {"bias_sinktoken", Evaluation::Extra::token, 0, 5, 2},
    {"norm_post"},
    {"norm_sandwich"},
    {"pos_alibi"},
    {"op_sigmoid_none"},
    {"kern_elu_none"},
    {"kern_id_norm"},
};

}  // namespace

// All maps of the first four of the five sequences, and the chosen one.
void check_maps(const Evaluation& e, const Case& c, const Everything& seen, std::int64_t X) {
  const Evaluation::Patterns& maps = e.patterns;
  std::int64_t P = kT + X, E = c.extra == Evaluation::Extra::key;
  CHECK(maps.extra_key == (E == 1));
  REQUIRE(maps.tokens.size() == 4);
  REQUIRE(maps.weights.size() == 4 * 2 * 4);
  double largest = 0, shown = 0;
  for (std::int64_t n = 0; n < 4; ++n) {
    REQUIRE(static_cast<std::int64_t>(maps.tokens[static_cast<std::size_t>(n)].size()) == P);
    CHECK((maps.tokens[static_cast<std::size_t>(n)][0] == -1) == (X == 1));
    for (std::int64_t l = 0; l < 2; ++l)
      for (std::int64_t h = 0; h < 4; ++h) {
        const Tensor& map = maps.weights[static_cast<std::size_t>((n * 2 + l) * 4 + h)];
        const Tensor& expected = seen.layers[static_cast<std::size_t>(l)].maps_BH[static_cast<std::size_t>(n * 4 + h)];
        REQUIRE(map.shape() == Shape{P, P + E});
        auto weight = view<double, 2>(map), expected_weight = view<double, 2>(expected);
        for (std::int64_t i = 0; i < P; ++i)
          for (std::int64_t j = 0; j < P + E; ++j)
            REQUIRE(weight(i, j) == Approx(expected_weight(i, j)).epsilon(1e-12));
      }
  }
  // The chosen head has the largest raw score of the first token or of `*`.
  for (std::size_t l = 0; l < 2; ++l)
    for (std::size_t h = 0; h < 4; ++h) {
      double weight = std::abs(e.raw.alpha_1_layer_head[l][h]);
      if (e.raw.has_star()) weight = std::max(weight, std::abs(e.raw.alpha_star_layer_head[l][h]));
      largest = std::max(largest, weight);
      if (static_cast<std::int64_t>(l) == maps.layer && static_cast<std::int64_t>(h) == maps.head) shown = weight;
    }
  CHECK(shown == largest);
}

TEST_CASE("evaluation: what golden models do not have equals a direct computation on whole maps") {
  double sinks = 0;
  int differ = 0;  // models whose largest raw alpha_1 is in another layer or head than the largest proxy alpha_1
  for (const Case& c : kCases) {
    CAPTURE(c.ablation);
    CAPTURE(c.window);
    CAPTURE(c.prefix);
    if (!test::is_built(c.ablation)) continue;
    auto model = model_of(c);
    std::int64_t X = model->extra_tokens();
    Batch input = random_tokens(23, kN, kT, 11);
    Everything seen;
    double loss = model->loss(input, 1, {.hooks = &seen}).value().item();
    Evaluation e = evaluate(*model, input, /*batch=*/2, /*with_patterns=*/true);

    CHECK(e.loss == Approx(loss).epsilon(1e-12));
    CHECK(e.sequences == kN);
    CHECK(e.context == kT);
    CHECK(e.extra == c.extra);
    const auto [layer, head] = largest_cell(e.proxy.alpha_1_layer_head);
    CHECK(e.alpha_1_max == e.proxy.alpha_1_layer_head[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)]);
    differ += largest_cell(e.raw.alpha_1_layer_head) != std::pair(layer, head);
    CHECK(e.row_sum == Approx(mean_of(e.row_sum_layer_head)).epsilon(1e-12));
    CHECK(e.entropy == Approx(mean_of(e.entropy_layer_head)).epsilon(1e-12));
    if (c.extra == Evaluation::Extra::key)
      CHECK(e.extra_key_weight == Approx(mean_of(e.extra_key_weight_layer_head)).epsilon(1e-12));
    check_value_shares(*model, e, c, seen, X);
    check_kurtosis(e, seen);
    check_loss_by_position(*model, input, e);
    sinks += e.proxy.sink_1[0];

    CHECK((e.hidden_before_norm_norm.size() == 2) == (std::string(c.ablation) == "norm_post"));
    CHECK(e.largest_massive_ratio == std::max({e.massive_ratio[0], e.massive_ratio[1], e.massive_ratio[2]}));
    double ratio = 0;
    for (const auto& norms : e.value_norm) {
      double others = 0;
      for (std::size_t t = 1; t < norms.size(); ++t) others += norms[t] / static_cast<double>(norms.size() - 1);
      ratio += norms[0] / others / 2;
    }
    CHECK(e.first_value_norm_ratio == Approx(ratio).epsilon(1e-9));

    check_maps(e, c, seen, X);
  }
  CHECK((differ > 0 || ablations_left_out() > 0));
  CHECK(sinks > 50);                                             // the indicator was not zero throughout
  CHECK(sinks < 100 * static_cast<double>(kCases.size()) - 50);  // nor one
}

TEST_CASE("evaluation: batches change nothing") {
  auto model = model_of(kCases[0]);
  Batch input = random_tokens(23, kN, kT, 11);
  Evaluation one = evaluate(*model, input, 1, false);
  Evaluation all = evaluate(*model, input, 100, false);
  CHECK(one.loss == Approx(all.loss).epsilon(1e-13));
  CHECK(one.proxy.alpha_k == all.proxy.alpha_k);
  CHECK(one.hidden_norm == all.hidden_norm);
  CHECK(one.first_key_cosine[1][2] == Approx(all.first_key_cosine[1][2]).epsilon(1e-13));
}

TEST_CASE("evaluation: a token at another position of each sequence has the alpha of its place") {
  for (const Case& c : kCases) {
    CAPTURE(c.ablation);
    if (!test::is_built(c.ablation)) continue;
    auto model = model_of(c);
    const Batch plain = random_tokens(22, kN, kT, 11);
    Tensor tokens_NT = plain.tokens_BT().clone();
    const FixedToken fixed{22, 1, 4};
    const auto place = [](std::int64_t n) { return (n * 2 + 1) % 4; };
    for (std::int64_t n = 0; n < kN - 1; ++n)
      tokens_NT.data<std::int32_t>()[n * kT + place(n)] = fixed.id;  // the last has none
    const Batch input(tokens_NT, plain.targets_BT(), 23, {});
    double alpha = 0, even = 0;
    for (std::int64_t n = 0; n < kN - 1; ++n) {
      const auto k = static_cast<std::size_t>(place(n));
      alpha += evaluate(*model, input.rows(n, n + 1), 1, false).proxy.alpha_k[k];
      even += even_alpha(visible_keys(model->sizes(), kT, model->extra_tokens(), c.extra == Evaluation::Extra::key),
                         place(n) + 1);
    }
    const Evaluation e = evaluate(*model, input, 2, false, {}, fixed);
    REQUIRE(!std::isnan(e.alpha_fixed));
    CHECK(e.alpha_fixed == Approx(alpha / (kN - 1)).epsilon(1e-12));
    CHECK(e.alpha_fixed_over_even == Approx(alpha / even).epsilon(1e-12));
    CHECK(std::isnan(evaluate(*model, plain, 2, false, {}, fixed).alpha_fixed));
    const Evaluation later = evaluate(*model, input, 2, false, {}, FixedToken{22, 4, 4});  // sequences 1, 3, ...
    CHECK(later.alpha_fixed != Approx(e.alpha_fixed));
    tokens_NT.data<std::int32_t>()[(kN - 1) * kT] = tokens_NT.data<std::int32_t>()[(kN - 1) * kT + 2] = fixed.id;
    const Batch twice(tokens_NT, plain.targets_BT(), 23, {});  // in the last sequence, which therefore does not count
    CHECK(evaluate(*model, twice, 2, false, {}, fixed).alpha_fixed == Approx(e.alpha_fixed).epsilon(1e-12));
    CHECK(std::isnan(evaluate(*model, input, 2, false).alpha_fixed));
  }
}

TEST_CASE("evaluation: a map that is not there is refused") {
  auto model = model_of(kCases[0]);
  Tensor tokens = random_tokens(23, 1, kT, 0).tokens_BT();
  Evaluation::Patterns one = capture_patterns(*model, tokens, 1, 3, /*all_heads=*/false);
  for (std::size_t i = 0; i < one.weights.size(); ++i) CHECK(one.weights[i].defined() == (i == 1 * 4 + 3));
  CHECK_THROWS_WITH_AS(capture_patterns(*model, tokens, 2, 0, true),
                       "expected a layer below 2 and a head below 4, got layer 2 and head 0", Error);
}

TEST_CASE("evaluation: the map to show is that of the largest weight as it acts, an extra key's included") {
  Evaluation e;
  // A sigmoid: the head with the largest proxy has almost no weight, one in the other layer has 0.5.
  e.proxy.alpha_1_layer_head = {{0.9, 0.1}, {0.2, 0.1}};
  e.raw.alpha_1_layer_head = {{0.0016, 0.0002}, {0.5, 0.4}};
  CHECK(largest_cell(e.proxy.alpha_1_layer_head) == std::pair<std::int64_t, std::int64_t>{0, 0});
  CHECK(head_to_show(e) == std::pair<std::int64_t, std::int64_t>{1, 0});
  e.raw.sink_star = {0};
  e.raw.alpha_star_layer_head = {{0.1, 0.6}, {0.1, 0.1}};
  CHECK(head_to_show(e) == std::pair<std::int64_t, std::int64_t>{0, 1});
  e.raw.alpha_1_layer_head[1][1] = -0.7;  // identity kernels have weights of either sign
  CHECK(head_to_show(e) == std::pair<std::int64_t, std::int64_t>{1, 1});
}

TEST_CASE("evaluation: all maps of as many sequences as make a small file, of long ones none or the asked one") {
  const Sizes small{.layers = 2, .heads = 8}, large{.layers = 10, .heads = 8}, huge{.layers = 32, .heads = 32};
  CHECK(sequences_to_keep(small, 100, 64) == 4);
  CHECK(sequences_to_keep(small, 3, 64) == 3);
  CHECK(sequences_to_keep(large, 100, 64) == 1);  // 80 maps of 2,144 weights of 8 bytes: 1.37 MB
  CHECK(sequences_to_keep(huge, 100, 64) == 0);
  CHECK(sequences_to_keep(small, 100, 256) == 0);
  CHECK(sequences_to_keep(small, 100, 257) == 0);

  Case long_case = kCases[0];
  Sizes sizes = sizes_of(long_case);
  sizes.context = 300;
  auto model = ablation_named("baseline").make_model(sizes, InitScheme::torch, 3, DType::F32);
  Batch input = random_tokens(23, 2, 300, 5);
  Evaluation e = evaluate(*model, input, 2, true);
  CHECK(e.patterns.weights.empty());
  add_patterns(*model, input, std::pair<std::int64_t, std::int64_t>{1, 2}, e);
  REQUIRE(e.patterns.weights.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(e.patterns.weights[i].defined() == (i == 1 * 4 + 2));

  auto text = [](std::int32_t id) { return id == 3 ? std::string("\xff\"") : std::to_string(id); };
  EvaluationContext context;
  context.token_text = text;
  auto json = nlohmann::json::parse(evaluation_json(e, context));
  CHECK(json["maps"]["weights"][0][1][2].size() == 300);
  CHECK(json["maps"]["weights"][0][1][1].is_null());
}

TEST_CASE("evaluation: the JSON's maps are the maps, row for row, to four digits") {
  for (const char* name : {"baseline", "bias_k", "bias_sinktoken", "kern_id_norm"}) {
    CAPTURE(name);
    Case c{name};
    if (!test::is_built(c.ablation)) continue;
    auto model = model_of(c);
    Batch input = random_tokens(23, kN, kT, 11);
    Evaluation e = evaluate(*model, input, kN, true);
    auto text = [](std::int32_t id) { return std::to_string(id); };
    EvaluationContext context;
    context.token_text = text;
    std::string written = evaluation_json(e, context);
    CHECK(written.ends_with("]}\n}\n"));
    auto maps = nlohmann::json::parse(written)["maps"];
    CHECK(maps["layers"] == 2);
    CHECK(maps["heads"] == 4);
    CHECK(maps["extra_key"] == e.patterns.extra_key);
    CHECK(maps["chosen"]["layer"] == e.patterns.layer);
    CHECK(maps["tokens"].size() == 4);
    CHECK((maps["tokens"][0][0] == "<sink token>") == (std::string(name) == "bias_sinktoken"));
    REQUIRE(maps["weights"].size() == 4);
    for (std::size_t i = 0; i < e.patterns.weights.size(); ++i) {
      const Tensor& map = e.patterns.weights[i];
      const auto& rows = maps["weights"][i / 8][i / 4 % 2][i % 4];
      REQUIRE(static_cast<std::int64_t>(rows.size()) == map.dim(0));
      for (std::int64_t r = 0; r < map.dim(0); ++r)
        for (std::int64_t j = 0; j < map.dim(1); ++j) {
          const auto& row = rows[static_cast<std::size_t>(r)];
          double got = j < static_cast<std::int64_t>(row.size()) ? row[static_cast<std::size_t>(j)].get<double>() : 0;
          double weight = view<double, 2>(map)(r, j);
          REQUIRE(std::abs(got - weight) <= 5.1e-4 * std::abs(weight));
        }
    }
  }
}

TEST_CASE("input tokens: random ones are uniform, a function of the place, and nothing else") {
  Batch input = random_tokens(50, 40, 64, 7);
  std::vector<int> count(50, 0);
  auto tokens_NT = view<std::int32_t, 2>(input.tokens_BT());
  for (std::int32_t id : tokens_NT) ++count.at(static_cast<std::size_t>(id));
  double chi_squared = 0;  // 49 degrees of freedom: 85 once in a thousand
  for (int c : count) chi_squared += (c - 51.2) * (c - 51.2) / 51.2;
  CHECK(chi_squared < 85);
  Batch shorter = random_tokens(50, 3, 10, 7, /*ignored=*/2), other = random_tokens(50, 40, 64, 8);
  auto shorter_NT = view<std::int32_t, 2>(shorter.tokens_BT()),
       targets_NT = view<std::int32_t, 2>(shorter.targets_BT());
  auto other_NT = view<std::int32_t, 2>(other.tokens_BT());
  int same = 0;
  for (std::int64_t n = 0; n < 3; ++n)
    for (std::int64_t t = 0; t < 10; ++t) {
      CHECK(shorter_NT(n, t) == tokens_NT(n, t));
      CHECK(targets_NT(n, t) == (t < 2 ? -1 : tokens_NT(n, t + 1)));
      same += other_NT(n, t) == tokens_NT(n, t);
    }
  CHECK(same < 10);
}

TEST_CASE("input tokens: one repeated token makes NoPE's rows uniform (appendix C.1)") {
  Batch input = repeated_tokens(23, kN, kT, 11);
  auto tokens_NT = view<std::int32_t, 2>(input.tokens_BT()), targets_NT = view<std::int32_t, 2>(input.targets_BT());
  bool differ = false;
  for (std::int64_t n = 0; n < kN; ++n) {
    differ = differ || tokens_NT(n, 0) != tokens_NT(0, 0);
    for (std::int64_t t = 0; t < kT; ++t) {
      CHECK(tokens_NT(n, t) == tokens_NT(n, 0));
      CHECK(targets_NT(n, t) == tokens_NT(n, 0));
    }
  }
  CHECK(differ);
  auto model = model_of({"pos_nope"});
  Evaluation e = evaluate(*model, input, kN, true);
  double harmonic = 0;
  for (int i = 1; i <= kT; ++i) harmonic += 1.0 / i;
  CHECK(e.proxy.alpha_1 == Approx(harmonic / kT).epsilon(1e-12));
  auto weights = view<double, 2>(e.patterns.weights[0]);
  for (std::int64_t i = 0; i < kT; ++i)
    for (std::int64_t j = 0; j <= i; ++j) CHECK(weights(i, j) == Approx(1 / static_cast<double>(i + 1)).epsilon(1e-12));
  for (const auto& norms : e.hidden_norm)
    for (double n : norms) CHECK(n == Approx(norms[0]).epsilon(1e-12));
  for (double ratio : e.massive_ratio) CHECK(ratio == Approx(1).epsilon(1e-12));
}

TEST_CASE("evaluation: the tables number layers from 0, and hidden state 0 is the embedding") {
  const Sizes sizes = sizes_of({"baseline"});
  auto model = ablation_named("baseline").make_model(sizes, InitScheme::torch, 3, DType::F64);
  Evaluation e = evaluate(*model, random_tokens(sizes.vocabulary, kN, kT, 7), kN, false);
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  for (std::size_t l = 0; l < e.hidden_kurtosis.size(); ++l) {
    e.hidden_kurtosis[l][0] = 1 + (l == 0), e.massive_ratio[l] = 1 + static_cast<double>(l == 0);
  }
  CHECK(contains(evaluation_table(e, "text"), "kurtosis of h_1 at most 2.0 (of the embedding, others"));
  CHECK(contains(inputs_table({{"text", e}}), " 2.00 of the embedding\n"));
  e.hidden_kurtosis[2][0] = e.massive_ratio[2] = 3;  // the output of layer 1
  CHECK(contains(evaluation_table(e, "text"), "kurtosis of h_1 at most 3.0 (after layer 1, others"));
  CHECK(contains(inputs_table({{"text", e}}), " 3.00 after layer 1\n"));
}
