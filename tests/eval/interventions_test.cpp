// Interventions against the same thing done with whole attention maps, row by row, and against models that do not see
// the key at all; logits by their definition; rounding against values by hand. With transformers:
// tests/golden/open/check_interventions.py.
#include "eval/interventions/interventions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <xtensor/xview.hpp>

#include "engine/tensor_view.h"
#include "eval/input_options.h"
#include "eval/input_tokens.h"
#include "eval/interventions/activation_kurtosis.h"
#include "eval/interventions/intervention_hooks.h"
#include "eval/interventions/quantisation.h"
#include "model/open/open_model.h"
#include "tests/model/model_support.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_refused.h"

using namespace sink;
using test::is_built;
using What = Intervention::What;

namespace {

using Approx = doctest::Approx;

std::unique_ptr<LanguageModel> model_of(const std::string& ablation, std::int64_t window = 0,
                                        std::int64_t kv_heads = 0) {
  Sizes sizes{.layers = 2, .heads = 4, .width = 32, .feed_forward = 24, .context = 16, .vocabulary = 23};
  sizes.window = window;
  sizes.kv_heads = kv_heads;
  return ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
}

Batch sequences_of(std::int64_t T) { return random_tokens(23, 4, T, 5, 0); }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value / static_cast<double>(values.size());
  return sum;
}

Intervention of_token(What what, std::int64_t token = 1) {
  Intervention one;
  one.what = what;
  one.tokens = {token};
  return one;
}
Intervention rounded(int weight_bits, int input_bits) {
  Intervention one = of_token(What::quantise);
  one.quantisation = {.weight_bits = weight_bits, .input_bits = input_bits};
  return one;
}

bool has(const std::vector<std::int64_t>& chosen, std::int64_t one) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), one) != chosen.end();
}

// The intervention by its definition: the layer's map, kept by the probe, is changed and multiplied with the values.
struct ByMaps final : ForwardHooks {
  Intervention what;
  std::int64_t key;
  double score_scale = 0;
  std::vector<Tensor> maps_H, q, k;  // of one sequence
  bool extra_key = false, divides = true;

  void attention(AttentionPoint& point) override {
    maps_H.clear();
    extra_key = point.has_extra_key;
    for (std::int64_t h = 0; h < point.q_BHTD.dim(1); ++h) maps_H.push_back(point.pattern(0, h));
    q = {point.q_BHTD.clone()};
    k = {point.k_BGTD.clone()};
    point.o_BHTD = Var(output(point));
  }
  // By how much the score of query i for the key rises.
  double rise(std::int64_t h, std::int64_t g, std::int64_t i) const {
    auto q_BHTD = view<double, 4>(q[0]);
    auto k_BGTD = view<double, 4>(k[0]);
    double dot = 0, squares = 0;
    for (std::size_t d = 0; d < q_BHTD.shape(3); ++d) {
      dot += q_BHTD(0, h, i, d) * k_BGTD(0, g, key, d);
      squares += k_BGTD(0, g, key, d) * k_BGTD(0, g, key, d);
    }
    return score_scale * dot * (what.scale - 1 + what.along / std::sqrt(squares));
  }
  // The extra keys of these tests have the value zero.
  Tensor output(const AttentionPoint& attention) const {
    Tensor o = attention.o_BHTD.value().clone();
    if (!has(what.layers, attention.layer)) return o;
    auto o_BHTD = view<double, 4>(o);
    auto v_BGTD = view<double, 4>(attention.v_BGTD);
    const std::int64_t H = o.dim(1), T = o.dim(2), D = o.dim(3), G = attention.v_BGTD.dim(1);
    for (std::int64_t h = 0; h < H; ++h) {
      if (!has(what.heads, h)) continue;
      auto a = view<double, 2>(maps_H[static_cast<std::size_t>(h)]);
      const std::int64_t first = extra_key ? 1 : 0;
      double mean = 0;
      for (std::int64_t i = key + 1; i < T; ++i) mean += a(i, first + key) / static_cast<double>(T - 1 - key);
      for (std::int64_t i = key + 1; i < T; ++i) {
        const double own = a(i, first + key);
        double all = 0, changed = what.what == What::constant ? mean : 0, scale = 1;
        for (std::int64_t j = 0; j < first + T; ++j) all += a(i, j);
        const double rest = all - own;  // zero in rows of ReLU that have nothing else
        if (what.what == What::redistribute || (what.what == What::mask && divides))
          scale = std::abs(rest) > 1e-6 * all ? all / rest : 1;
        if (what.what == What::key && divides) {  // softmax
          changed = own * std::exp(rise(h, h / (H / G), i));
          scale = 1 / (rest + changed);
        } else if (what.what == What::key) {  // sigmoid
          changed = 1 / (1 + std::exp(-std::log(own / (1 - own)) - rise(h, h / (H / G), i)));
        }
        for (std::int64_t d = 0; d < D; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < T; ++j)
            sum += (j == key ? changed : a(i, first + j)) * v_BGTD(0, h / (H / G), j, d);
          o_BHTD(0, h, i, d) = scale * sum;
        }
      }
    }
    return o;
  }
};

ByMaps by_maps(const LanguageModel& model, const Intervention& what, bool divides = true) {
  ByMaps edit;
  edit.what = what;
  edit.key = model.extra_tokens() + what.tokens[0] - 1;
  edit.score_scale = model.sizes().scale();
  edit.divides = divides;
  return edit;
}

std::vector<double> losses_by_maps(LanguageModel& model, const Batch& sequences, const Intervention& what,
                                   bool divides = true) {
  std::vector<double> losses;
  for (std::int64_t n = 0; n < sequences.sequences(); ++n) {
    ByMaps edit = by_maps(model, what, divides);
    losses.push_back(model.loss(sequences.rows(n, n + 1), 1, {.hooks = &edit}).value().item());
  }
  return losses;
}

void check_equal(const std::vector<double>& ours, const std::vector<double>& theirs, double tolerance = 1e-12) {
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t n = 0; n < ours.size(); ++n) CHECK(ours[n] == Approx(theirs[n]).epsilon(tolerance));
}

}  // namespace

TEST_CASE("interventions: a key's share is taken as with whole maps") {
  for (const std::string ablation :
       {"baseline", "op_sigmoid_none", "op_relu", "bias_k", "norm_post", "bias_sinktoken"}) {
    if (!is_built(ablation)) continue;
    for (std::int64_t kv_heads : {0, 2}) {
      auto model = model_of(ablation, 0, kv_heads);
      Batch sequences = sequences_of(7);
      for (std::int64_t token : {1, 3})
        for (What what : {What::value, What::redistribute, What::constant, What::mask}) {
          CAPTURE(ablation);
          CAPTURE(token);
          const bool divides = ablation != "op_sigmoid_none" && ablation != "op_relu";
          for (Intervention one : {of_token(what, token), of_token(what, token)}) {
            check_equal(losses_with(*model, sequences, one), losses_by_maps(*model, sequences, one, divides));
            one.layers = {1};
            one.heads = {0, 3};
            check_equal(losses_with(*model, sequences, one), losses_by_maps(*model, sequences, one, divides));
          }
        }
    }
  }
}

TEST_CASE("interventions: a steered key's scores are those of a key that is so") {
  for (const std::string ablation : {"baseline", "op_sigmoid_none", "bias_k"}) {
    if (!is_built(ablation)) continue;
    for (std::int64_t kv_heads : {0, 2}) {
      CAPTURE(ablation);
      auto model = model_of(ablation, 0, kv_heads);
      Intervention one = of_token(What::key, 2);
      one.scale = 0.25;
      one.along = -3;
      one.heads = {1};
      const Batch sequences = sequences_of(7);
      const std::vector<double> losses = losses_with(*model, sequences, one);
      check_equal(losses, losses_by_maps(*model, sequences, one, ablation != "op_sigmoid_none"), 1e-9);
      CHECK(mean(losses) != Approx(model->loss(sequences).value().item()).epsilon(1e-7));
    }
  }
}

TEST_CASE("interventions: of two tokens each acts on the queries behind it") {
  auto model = model_of("baseline");
  const Batch sequences = sequences_of(3);
  Intervention both = of_token(What::mask), first = of_token(What::mask);
  both.tokens = {1, 2};
  first.layers = both.layers = {1};  // the last, so that queries are changed one by one
  auto narrow = model_of("baseline", /*window=*/1), wide = model_of("baseline");
  const Tensor targets = sequences.targets_BT().clone();
  auto only = [&](std::int64_t query) {
    Tensor one = targets.clone();
    for (std::int64_t n = 0; n < one.size(); ++n)
      if (n % 3 != query) one.data<std::int32_t>()[n] = -1;
    return Batch(sequences.tokens_BT(), one, 23);
  };
  check_equal(losses_with(*model, only(1), both), losses_with(*model, only(1), first));
  CHECK(mean(losses_with(*model, only(2), both)) != Approx(mean(losses_with(*model, only(2), first))).epsilon(1e-7));
  both.layers = {};  // without both, the third query has itself alone, as with a window of one
  CHECK(mean(losses_with(*wide, only(2), both)) == Approx(narrow->loss(only(2)).value().item()).epsilon(1e-12));
}

TEST_CASE("interventions: a mean value is that of the other tokens, over all sequences") {
  auto model = model_of("baseline", 0, 2);
  const Batch sequences = sequences_of(5);
  struct Values final : ForwardHooks {
    std::vector<Tensor> of_layer;
    bool replaces = false;
    void attention(AttentionPoint& point) override {
      if (!replaces)
        of_layer.push_back(point.v_BGTD.clone());
      else if (point.layer == 0)
        point.o_BHTD = Var(output(point));
    }
    // Token 2 has the value that is the mean of tokens 1, 3, 4, 5 of the four sequences; in layer 0, head 3.
    Tensor output(const AttentionPoint& attention) const {
      Tensor v = attention.v_BGTD.clone(), o = attention.o_BHTD.value().clone();
      auto all = view<double, 4>(of_layer[0]);
      auto v_BGTD = view<double, 4>(v);
      for (std::size_t d = 0; d < v_BGTD.shape(3); ++d) {
        double sum = 0;
        for (std::size_t b = 0; b < 4; ++b)
          for (std::size_t t : {0, 2, 3, 4}) sum += all(b, 1, t, d) / 16;
        for (std::size_t b = 0; b < 4; ++b) v_BGTD(b, 1, 1, d) = sum;
      }
      const Tensor mixed = attention.mix(attention.k_BGTD, v, {});
      auto from = view<double, 4>(mixed);
      auto to = view<double, 4>(o);
      for (std::size_t b = 0; b < 4; ++b)
        for (std::size_t i = 2; i < 5; ++i)
          for (std::size_t d = 0; d < v_BGTD.shape(3); ++d) to(b, 3, i, d) = from(b, 3, i, d);
      return o;
    }
  } values;
  model->loss(sequences, 1, {.hooks = &values});
  values.replaces = true;
  Intervention one = of_token(What::value, 2);
  one.mean_value = true;
  one.layers = {0};
  one.heads = {3};
  const double by_hand = model->loss(sequences, 1, {.hooks = &values}).value().item();
  CHECK(mean(losses_with(*model, sequences, one)) == Approx(by_hand).epsilon(1e-12));
  for (std::int64_t batch : {1, 3, 4}) {
    CAPTURE(batch);
    CHECK(intervene(*model, sequences, {one}, batch).results[0].loss == Approx(by_hand).epsilon(1e-12));
  }
}

TEST_CASE("interventions: a head without output is one whose columns of the output matrix are zero") {
  auto model = model_of("baseline"), without = model_of("baseline");
  const Batch sequences = sequences_of(7);
  Intervention one = of_token(What::head);
  one.tokens.clear();
  one.layers = {1};
  one.heads = {2};
  const std::int64_t D = 8;
  for (const auto& parameter : without->parameters())
    if (parameter->name() == "blocks.1.attention.out.weight") {
      auto weight = view<double, 2>(parameter->mutable_master());
      for (std::size_t row = 0; row < weight.shape(0); ++row)
        for (std::int64_t d = 0; d < D; ++d) weight(row, 2 * D + d) = 0;
    }
  const double expected = without->loss(sequences).value().item();
  CHECK(mean(losses_with(*model, sequences, one)) == Approx(expected).epsilon(1e-13));
  CHECK(expected != Approx(model->loss(sequences).value().item()).epsilon(1e-6));
  Intervention pair = of_token(What::head);  // this head, and one of the layer before
  pair.tokens.clear();
  pair.layer_heads = {{0, 3}, {1, 2}};
  one.layers = {0};
  one.heads = {3};
  CHECK(mean(losses_with(*model, sequences, pair)) ==
        Approx(mean(losses_with(*without, sequences, one))).epsilon(1e-13));
  pair.layer_heads = {{2, 0}};
  check_refused([&] { losses_with(*model, sequences, pair); }, {"the layer must be from 0 to 1, got 2"}, Exit::usage);
}

TEST_CASE("interventions: patched heads and heads at their mean are those of the other texts, by hand") {
  auto model = model_of("bias_sinktoken");
  if (!is_built("bias_sinktoken")) return;
  const Batch sequences = sequences_of(6), source = sequences.rows(3, 4);
  struct Outputs final : ForwardHooks {
    Tensor outputs, edited;  // of layer 1
    void attention(AttentionPoint& point) override {
      if (point.layer != 1) return;
      outputs = point.o_BHTD.value().clone();
      if (edited.defined()) point.o_BHTD = Var(edited);
    }
  } of_source, of_all;
  model->loss(source, 1, {.hooks = &of_source});
  model->loss(sequences, 1, {.hooks = &of_all});

  Intervention patch = of_token(What::patch, 3);
  patch.layers = {1};
  patch.heads = {2};
  patch.source_BT = source.tokens_BT();
  of_all.edited = of_all.outputs.clone();
  auto to = view<double, 4>(of_all.edited);
  const std::size_t position = 3;  // the sink token is the first
  for (std::size_t b = 0; b < 4; ++b)
    for (std::size_t d = 0; d < to.shape(3); ++d)
      to(b, 2, position, d) = view<double, 4>(of_source.outputs)(0, 2, position, d);
  double expected = model->loss(sequences, 1, {.hooks = &of_all}).value().item();
  CHECK(mean(losses_with(*model, sequences, patch)) == Approx(expected).epsilon(1e-13));

  Intervention head = of_token(What::head, 3);
  head.layers = {1};
  head.heads = {2};
  head.mean_value = true;
  of_all.edited = Tensor();
  model->loss(sequences, 1, {.hooks = &of_all});
  of_all.edited = of_all.outputs.clone();
  auto mean_to = view<double, 4>(of_all.edited);
  for (std::size_t d = 0; d < mean_to.shape(3); ++d) {
    double sum = 0;
    for (std::size_t b = 0; b < 4; ++b)
      for (std::size_t t = 1; t < 7; ++t) sum += view<double, 4>(of_all.outputs)(b, 2, t, d) / 24;
    for (std::size_t b = 0; b < 4; ++b) mean_to(b, 2, position, d) = sum;
  }
  expected = model->loss(sequences, 1, {.hooks = &of_all}).value().item();
  CHECK(mean(losses_with(*model, sequences, head)) == Approx(expected).epsilon(1e-12));
}

TEST_CASE("interventions: the residual stream of another text after the last block gives its logits") {
  auto model = model_of("baseline");
  const Batch sequences = sequences_of(6), first = sequences.rows(0, 1), second = sequences.rows(1, 2);
  Intervention patch = of_token(What::patch);
  patch.tokens.clear();
  patch.layers = {1};
  patch.of_residual = true;
  patch.source_BT = second.tokens_BT();
  const Batch mixed(second.tokens_BT(), first.targets_BT(), 23);
  check_equal(losses_with(*model, first, patch), {model->loss(mixed).value().item()}, 1e-14);
  patch.source_BT = first.tokens_BT();
  Intervention nothing = of_token(What::clip);
  nothing.largest = 1e9;
  CHECK(losses_with(*model, first, patch)[0] == losses_with(*model, first, nothing)[0]);  // to the bit
  // A result for each layer and token; the last target is the last token's.
  patch.source_BT = second.tokens_BT();
  patch.layers.clear();
  patch.per_token = true;
  const Interventions all = intervene(*model, first, {patch}, 1);
  REQUIRE(all.results.size() == 2 * 6);
  CHECK(all.results[7].layer == 1);
  CHECK(all.results[7].token == 2);
  CHECK(all.results[7].last_change == 0);  // after the last block a token changes its own logits alone
  const double last = all.results[11].last_change;
  CHECK(last != 0);
  CHECK(all.results[11].change == Approx(last / 6).epsilon(1e-10));
}

TEST_CASE("interventions: clipped activations are the stream of each block, within its bounds") {
  auto model = model_of("baseline");
  const Batch sequences = sequences_of(6);
  struct Stream final : HiddenStateHooks {
    std::vector<Tensor> x;
    void hidden_state(std::int64_t, const Tensor& x_BTC) override { x.push_back(x_BTC.clone()); }
  } stream;
  model->loss(sequences, 1, {.hooks = &stream});
  struct Clipped final : ForwardHooks {
    const Stream* seen = nullptr;
    double medians = 0;
    // Only after the first block, at tokens 2 and 3.
    void residual_post(std::int64_t layer, Residual& residual) override {
      if (layer != 0) return;
      Tensor x = seen->x[1].clone();
      auto x_BTC_ = view<double, 3>(x);
      for (std::size_t b = 0; b < x_BTC_.shape(0); ++b) {
        std::vector<double> all;
        for (std::size_t t = 0; t < 6; ++t)
          for (std::size_t c = 0; c < 32; ++c) all.push_back(std::abs(x_BTC_(b, t, c)));
        std::sort(all.begin(), all.end());
        const double limit = medians * (all[95] + all[96]) / 2;  // of 192
        for (std::size_t t : {1, 2})
          for (std::size_t c = 0; c < 32; ++c) {
            double& number = x_BTC_(b, t, c);
            if (number > limit) number = limit;
            if (number < -limit) number = -limit;
          }
      }
      residual = Var(x);
    }
  } clipped;
  clipped.seen = &stream;
  clipped.medians = 1.5;
  Intervention one = of_token(What::clip);
  one.tokens = {2, 3};
  one.layers = {0};
  one.medians = 1.5;
  const double loss = model->loss(sequences).value().item();
  const double by_hand = model->loss(sequences, 1, {.hooks = &clipped}).value().item();
  CHECK(by_hand != Approx(loss).epsilon(1e-6));
  CHECK(intervene(*model, sequences, {one}, 4).results[0].loss == Approx(by_hand).epsilon(1e-12));
  one = of_token(What::clip);
  one.tokens = {};
  one.largest = 1e6;
  CHECK(mean(losses_with(*model, sequences, one)) == Approx(loss).epsilon(1e-14));
  one.largest = 1e-9;  // nothing is left but what the norm makes of signs
  CHECK(mean(losses_with(*model, sequences, one)) != Approx(loss).epsilon(1e-6));
}

TEST_CASE("interventions: divergence and greedy tokens by their definition, whatever the batch") {
  auto model = model_of("baseline");
  const Batch sequences = sequences_of(7);
  const Intervention one = of_token(What::value, 2);
  double divergence = 0, changed = 0;
  for (std::int64_t n = 0; n < 4; ++n) {
    ByMaps edit = by_maps(*model, one);
    const Tensor tokens = sequences.rows(n, n + 1).tokens_BT();
    const Tensor before = model->logits(tokens), after = model->logits(tokens, {.hooks = &edit});
    auto z = view<double, 3>(before);
    auto y = view<double, 3>(after);
    for (std::size_t t = 0; t < 7; ++t) {
      double of_z = 0, of_y = 0;
      std::size_t greedy_z = 0, greedy_y = 0;
      for (std::size_t v = 0; v < 23; ++v) {
        of_z += std::exp(z(0, t, v)), of_y += std::exp(y(0, t, v));
        if (z(0, t, v) > z(0, t, greedy_z)) greedy_z = v;
        if (y(0, t, v) > y(0, t, greedy_y)) greedy_y = v;
      }
      changed += (greedy_z != greedy_y) / 28.0;
      for (std::size_t v = 0; v < 23; ++v) {
        const double p = std::exp(z(0, t, v)) / of_z, q = std::exp(y(0, t, v)) / of_y;
        divergence += p * std::log(p / q) / 28;
      }
    }
  }
  for (std::int64_t batch : {1, 3, 4}) {
    const InterventionResult r = intervene(*model, sequences, {one}, batch).results[0];
    CHECK(r.divergence == Approx(divergence).epsilon(1e-9));
    CHECK(r.greedy_changed == Approx(changed).epsilon(1e-12));
    CHECK(r.before == Approx(model->loss(sequences).value().item()).epsilon(1e-12));
    CHECK(r.change == Approx(r.loss - r.before).epsilon(1e-9));
  }
  CHECK(divergence > 1e-5);
}

TEST_CASE("interventions: each head alone has a row, and places that a model does not have are refused") {
  auto model = model_of("baseline");
  const Batch sequences = sequences_of(5);
  Intervention one = of_token(What::mask);
  one.name = "m";
  one.per_head = true;
  one.layers = {1};
  const Interventions all = intervene(*model, sequences, {one}, 4);
  REQUIRE(all.results.size() == 4);
  CHECK(all.results[2].name == "m layer 1 head 2");
  CHECK(all.results[2].head == 2);
  one.per_head = false;
  one.heads = {2};
  CHECK(all.results[2].loss == Approx(mean(losses_with(*model, sequences, one))).epsilon(1e-12));
  one.origin = "a.toml: line 3";
  one.heads = {4};
  check_refused([&] { intervene(*model, sequences, {one}); }, {"a.toml: line 3: the head must be from 0 to 3, got 4"},
                Exit::usage);
  one.heads = {};
  one.layers = {2};
  check_refused([&] { intervene(*model, sequences, {one}); }, {"the layer must be from 0 to 1, got 2"}, Exit::usage);
}

TEST_CASE("interventions: heads that share a pass, from their layer on, have the losses of whole passes of their own") {
  struct WithoutHead final : ForwardHooks {
    std::int64_t layer, head, extra;  // the model's own tokens keep their outputs
    WithoutHead(std::int64_t layer, std::int64_t head, std::int64_t extra) : layer(layer), head(head), extra(extra) {}
    void attention(AttentionPoint& point) override {
      if (point.layer != layer) return;
      Tensor o = point.o_BHTD.value().clone();
      xt::view(view<double, 4>(o), xt::all(), head, xt::range(extra, o.dim(2))) = 0.0;
      point.o_BHTD = Var(o);
    }
  };
  for (const std::string ablation : {"baseline", "bias_sinktoken", "norm_post", "pos_learnable"}) {
    if (!is_built(ablation)) continue;
    CAPTURE(ablation);
    auto model = model_of(ablation);
    const Batch plain = random_tokens(23, 3, 7, 5, 0);
    const std::vector<std::int32_t> starts{0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 5, 5};
    const Batch packed(plain.tokens_BT(), plain.targets_BT(), 23, {Tensor::from({3, 7}, starts), {}});
    for (const Batch& sequences : {plain, packed})
      for (std::int64_t batch : {1, 2, 3, 7, 30}) {
        if (ablation == "bias_sinktoken" && sequences.documents().defined()) continue;
        CAPTURE(batch);
        const Interventions all = intervene(*model, sequences, {without_each_head(false)}, batch);
        REQUIRE(all.results.size() == 8);
        for (const InterventionResult& result : all.results) {
          WithoutHead by_hand(result.layer, result.head, model->extra_tokens());
          const double expected = model->loss(sequences, 1, {.hooks = &by_hand}).value().item();
          CHECK(result.loss == Approx(expected).epsilon(1e-13));
          CHECK(std::abs(result.change) > 1e-6);
        }
      }
  }
}

TEST_CASE("interventions: without the first of two tokens a model is one whose window is one token") {
  Batch sequences = sequences_of(2);
  auto check = [&](const std::string& ablation, What what) {
    CAPTURE(ablation);
    auto narrow = model_of(ablation, /*window=*/1), wide = model_of(ablation);
    double loss = mean(losses_with(*wide, sequences, of_token(what)));
    CHECK(loss == Approx(narrow->loss(sequences).value().item()).epsilon(1e-12));
    CHECK(loss != Approx(wide->loss(sequences).value().item()).epsilon(1e-6));
  };
  check("baseline", What::mask);
  if (is_built("bias_k")) check("bias_k", What::mask);
  if (is_built("op_sigmoid_none")) check("op_sigmoid_none", What::mask);
}

TEST_CASE("interventions: the last token's share is nobody's, and what one query gets is already constant") {
  auto model = model_of("baseline");
  Batch sequences = sequences_of(6);
  double loss = model->loss(sequences).value().item();
  CHECK(mean(losses_with(*model, sequences, of_token(What::value, 6))) == Approx(loss).epsilon(1e-14));
  CHECK(mean(losses_with(*model, sequences, of_token(What::constant, 5))) == Approx(loss).epsilon(1e-14));
  CHECK_THROWS_WITH_AS(losses_with(*model, sequences, of_token(What::value, 7)), "the token must be from 1 to 6, got 7",
                       Error);
}

TEST_CASE("interventions: rounding to few bits") {
  CHECK(quantised(0.5, 1, 2) == 0);  // -1, 0, 1; the even one of two that are as near
  CHECK(quantised(0.6, 1, 2) == 1);
  CHECK(quantised(-0.9, 3.5, 4) == -1.0);  // steps of 0.5
  CHECK(quantised(3.5, 3.5, 4) == 3.5);
  CHECK(quantised(0, 0, 8) == 0);
}

TEST_CASE("interventions: the hidden states of each token, with a sink token and several in a batch") {
  for (const std::string ablation : {"baseline", "bias_sinktoken"}) {
    if (!is_built(ablation)) continue;
    CAPTURE(ablation);
    auto model = model_of(ablation);
    const Batch sequences = sequences_of(6);
    const Interventions all = intervene(*model, sequences, {rounded(0, 3)}, 3, /*each_token=*/true);
    const std::vector<TokenChange>& tokens = all.results[0].tokens;
    REQUIRE(tokens.size() == 4 * 6);
    double change = 0;
    for (std::int64_t b = 0; b < 4; ++b) {
      const Batch one = sequences.rows(b, b + 1);
      test::Watcher before;
      const Intervention by_hand = rounded(0, 3);
      model->logits(one.tokens_BT(), {.hooks = &before});
      const ValueSums no_values(model->extra_tokens());
      const std::unique_ptr<ForwardHooks> hooks = hooks_of({&by_hand, 1}, model->extra_tokens(), no_values, nullptr);
      HiddenRecorder recorder(*hooks);
      model->logits(one.tokens_BT(), {.hooks = &recorder});
      for (std::int64_t t = 0; t < 6; ++t) {
        const TokenChange& token = tokens[static_cast<std::size_t>(b * 6 + t)];
        if (!std::isnan(token.before)) change += (token.after - token.before) / 6;
        double largest = 0, last = 0;
        for (std::size_t l = 0; l < recorder.hidden_LBTC().size(); ++l) {
          const Tensor &h = before.hidden_L[l + 1], &changed = recorder.hidden_LBTC()[l];
          const std::int64_t C = h.dim(2), row = (model->extra_tokens() + t) * C;
          double difference = 0, size = 0;
          for (std::int64_t c = row; c < row + C; ++c)
            difference += std::pow(changed.item(c) - h.item(c), 2), size += std::pow(h.item(c), 2);
          last = std::sqrt(difference / size);
          largest = std::max(largest, last);
        }
        CHECK(token.hidden_change == Approx(last).epsilon(1e-12));
        CHECK(token.largest_change == Approx(largest).epsilon(1e-12));
        CHECK(token.hidden_change > 1e-4);
      }
    }
    CHECK(all.results[0].change == Approx(change / 4).epsilon(1e-12));
  }
  CHECK(TokenChange{.hidden_change = 1}.destroyed());
  CHECK(TokenChange{.hidden_change = std::nan("")}.destroyed());
  CHECK_FALSE(TokenChange{.hidden_change = 0.99}.destroyed());
}

TEST_CASE("interventions: numbers that share a scale, by hand") {
  const std::vector<double> numbers{4, -1, 2, 0.4, 1, -0.1};
  auto check = [&](std::int64_t rows, std::int64_t columns, const std::vector<double>& expected) {
    Tensor x = Tensor::from<double>({1, 2, 3}, numbers);
    quantise_tiles(x, rows, columns, 2);  // -1, 0, 1 times the largest
    for (std::int64_t n = 0; n < 6; ++n) CHECK(x.item(n) == Approx(expected[static_cast<std::size_t>(n)]));
  };
  check(2, 3, {4, 0, 0, 0, 0, 0});  // half a step goes to the even one
  check(1, 3, {4, 0, 0, 0, 1, 0});
  check(2, 1, {4, -1, 2, 0, 1, 0});
  Tensor x = Tensor::from<double>({2, 4}, {4, -1, 0.5, 0.2, 1, 3, 0.1, -0.4});
  quantise_tiles(x, 2, 2, 2);
  const std::vector<double> expected{4, 0, 0.5, 0, 0, 4, 0, -0.5};
  for (std::int64_t n = 0; n < 8; ++n) CHECK(x.item(n) == Approx(expected[static_cast<std::size_t>(n)]));
}

TEST_CASE("interventions: matrices in a file are rounded as those in memory, and are then what they were") {
  const std::string path = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/models/";
  for (const std::string name : {"llama", "llama.gguf", "gpt2", "mixtral", "gpt_oss"}) {
    const std::string ablation = name.starts_with("llama") ? "baseline" : name;
    if (!is_built(ablation)) continue;
    CAPTURE(name);
    const OpenModel open = open_model(path + name);
    auto in_place = open.load(ablation_named(ablation), DType::F32);
    auto in_memory = open.load(ablation_named(ablation), DType::F64);
    const Batch sequences = random_tokens(in_place->sizes().vocabulary, 4, 8, 5, 0);
    const double loss = in_place->loss(sequences).value().item();
    for (Grain grain : {Grain::tensor, Grain::channel}) {
      Intervention one = rounded(3, 0);
      one.quantisation.weights = grain;
      const std::vector<double> losses = losses_with(*in_place, sequences, one);
      check_equal(losses, losses_with(*in_memory, sequences, one), 1e-4);
      CHECK(mean(losses) != Approx(loss).epsilon(1e-3));
    }
    CHECK(in_place->loss(sequences).value().item() == loss);
  }
}

TEST_CASE("interventions: kurtosis and outliers of what goes through, by hand") {
  auto model = model_of("baseline");
  const Batch sequences = sequences_of(5);
  struct Stream final : HiddenStateHooks {
    std::vector<Tensor> x, products;
    void hidden_state(std::int64_t, const Tensor& x_BTC) override { x.push_back(x_BTC.clone()); }
    void sublayer_input(std::int64_t, SublayerKind, Var& h_BTC) override { products.push_back(h_BTC.value()); }
    void projection_input(std::int64_t, SublayerKind, Var& y_BTF) override { products.push_back(y_BTF.value()); }
  } stream;
  model->loss(sequences, 1, {.hooks = &stream});
  auto kurtosis = [](const Tensor& x, std::int64_t begin, std::int64_t end) {
    double n = static_cast<double>(end - begin), mean = 0, second = 0, fourth = 0;
    for (std::int64_t i = begin; i < end; ++i) mean += x.item(i) / n;
    for (std::int64_t i = begin; i < end; ++i) {
      second += std::pow(x.item(i) - mean, 2) / n;
      fourth += std::pow(x.item(i) - mean, 4) / n;
    }
    return fourth / second / second;
  };
  REQUIRE(stream.products.size() == 8);
  CHECK(stream.products[3].dim(-1) == 24);  // what down reads
  for (std::int64_t batch : {1, 3}) {
    const ActivationKurtosis found = activation_kurtosis(*model, sequences, batch);
    double first = 0, others = 0, outlier = 0, down = 0;
    for (std::int64_t b = 0; b < 4; ++b) {
      const std::int64_t at = b * 5 * 32;
      first += kurtosis(stream.x[2], at, at + 32) / 4;
      for (std::int64_t t = 1; t < 5; ++t) others += kurtosis(stream.x[2], at + t * 32, at + t * 32 + 32) / 16;
      std::vector<double> sizes;
      for (std::int64_t n = at; n < at + 160; ++n) sizes.push_back(std::abs(stream.x[2].item(n)));
      std::sort(sizes.begin(), sizes.end());
      outlier += sizes[159] / ((sizes[79] + sizes[80]) / 2) / 4;
      down += kurtosis(stream.products[7], b * 5 * 24, (b + 1) * 5 * 24) / 4;
    }
    CHECK(found.residual_first.at(2) == Approx(first).epsilon(1e-9));
    CHECK(found.residual_others.at(2) == Approx(others).epsilon(1e-9));
    CHECK(found.residual_largest_by_median.at(2) == Approx(outlier).epsilon(1e-9));
    CHECK(found.inputs.at(1).at(3) == Approx(down).epsilon(1e-9));
  }
}

TEST_CASE("interventions: of a mixture's experts those that were chosen count, and biases are no matrices") {
  if (!is_built("gpt_oss")) return;
  Sizes sizes{.layers = 2, .heads = 4, .width = 32, .feed_forward = 24, .context = 16, .vocabulary = 23};
  sizes.experts = 6;
  sizes.chosen_experts = 2;
  auto model = ablation_named("gpt_oss").make_model(sizes, InitScheme::torch, 3, DType::F64);
  const Batch sequences = sequences_of(5);
  struct Down final : ForwardHooks {
    Tensor y_BTF;
    void projection_input(std::int64_t, SublayerKind kind, Var& y) override {
      if (kind == SublayerKind::feed_forward) y_BTF = y.value().clone();
    }
  } down;
  model->loss(sequences, 1, {.hooks = &down});
  REQUIRE(down.y_BTF.dim(-1) == 6 * 24);
  double expected = 0;
  for (std::int64_t b = 0; b < 4; ++b) {
    std::vector<double> y;
    for (std::int64_t i = b * 5 * 144; i < (b + 1) * 5 * 144; ++i)
      if (down.y_BTF.item(i) != 0) y.push_back(down.y_BTF.item(i));
    CHECK(y.size() == 5 * 2 * 24);
    double mean = 0, second = 0, fourth = 0;
    for (double x : y) mean += x / 240;
    for (double x : y) second += std::pow(x - mean, 2) / 240, fourth += std::pow(x - mean, 4) / 240;
    expected += fourth / second / second / 4;
  }
  CHECK(activation_kurtosis(*model, sequences, 4).inputs.at(1).at(3) == Approx(expected).epsilon(1e-9));

  int matrices = 0, others = 0;
  std::vector<std::pair<const Parameter*, Tensor>> before;
  for (const auto& parameter : model->parameters()) {
    if (parameter->name().ends_with("bias") && parameter->master().rank() == 2)  // they begin as zeros
      parameter->mutable_master().copy_from(Tensor::full(parameter->master().shape(), 0.37, DType::F64));
    before.emplace_back(parameter.get(), parameter->master().clone());
  }
  // The largest |W| in `rows` rows of expert e, from `first` on. down is (32, 6 x 24), gate_up (6 x 48, 32).
  const auto largest = [](const Tensor& w, bool is_down, std::int64_t e, std::int64_t first, std::int64_t rows) {
    double found = 0;
    const std::int64_t width = is_down ? 6 * 24 : 32, columns = is_down ? 24 : 32;
    const std::int64_t corner = is_down ? e * 24 : e * 48 * 32;
    for (std::int64_t row = first; row < first + rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        found = std::max(found, std::abs(w.item(corner + row * width + column)));
    return found;
  };
  for (Grain grain : {Grain::tensor, Grain::channel}) {
    const QuantisedMatrices quantised(*model, 3, grain);
    for (const auto& [parameter, was] : before) {
      bool same = true;
      for (std::int64_t i = 0; i < was.size(); ++i) same &= was.item(i) == parameter->master().item(i);
      const bool is_matrix = parameter->name().starts_with("blocks.") && parameter->name().ends_with(".weight");
      CHECK_MESSAGE(same != is_matrix, parameter->name());
      ++(is_matrix ? matrices : others);
      // The largest element of each scale stays.
      const bool is_down = parameter->name().ends_with("feed_forward.down.weight");
      if (!is_down && !parameter->name().ends_with("feed_forward.gate_up.weight")) continue;
      const std::int64_t height = is_down ? 32 : 48, rows = grain == Grain::tensor ? height : 1;
      for (std::int64_t e = 0; e < 6; ++e)
        for (std::int64_t first = 0; first < height; first += rows)
          CHECK(largest(parameter->master(), is_down, e, first, rows) ==
                Approx(largest(was, is_down, e, first, rows)).epsilon(1e-12));
    }
  }
  CHECK(matrices == 2 * 2 * 5);  // qkv, out, router, gate_up, down
  CHECK(others > 20);
}

TEST_CASE("interventions: a model whose values overflow has no results, as with other measures") {
  auto model = model_of("baseline");
  for (const auto& parameter : model->parameters())
    if (parameter->name() == "blocks.1.feed_forward.down.weight")
      parameter->mutable_master().copy_from(Tensor::full(parameter->master().shape(), INFINITY, DType::F64));
  model->parameters().refresh();
  check_refused([&] { intervene(*model, sequences_of(9), default_interventions({1}), 4); }, {"the loss is not finite"},
                Exit::diverged);
}

TEST_CASE("interventions: the name of a text ends with a whole character") {
  InputOptions input;
  for (const std::string begin : {"", "a", "ab"}) {
    input.text = begin;
    for (int n = 0; n < 20; ++n) *input.text += "\u6ce8";
    const std::string name = input.name();
    CHECK(name.size() <= 43);
    CHECK((name.size() - begin.size()) % 3 == 0);  // whole characters of three bytes, and three dots
    CHECK(name.ends_with("\u6ce8..."));
  }
}

TEST_CASE("interventions: precision; the model is afterwards what it was") {
  auto model = model_of("baseline");
  Batch sequences = sequences_of(9);
  double loss = model->loss(sequences).value().item();
  double fine = mean(losses_with(*model, sequences, rounded(30, 30)));
  double coarse = mean(losses_with(*model, sequences, rounded(3, 3)));
  CHECK(fine == Approx(loss).epsilon(1e-7));
  CHECK(std::abs(coarse - loss) > 1e-4);
  CHECK(mean(losses_with(*model, sequences, rounded(3, 0))) != Approx(coarse).epsilon(1e-6));
  CHECK(model->loss(sequences).value().item() == loss);

  // A matrix whose rows are on a grid of 3 bits already stays, whatever the other rows hold.
  for (const auto& parameter : model->parameters()) {
    if (!parameter->name().starts_with("blocks.") || parameter->master().rank() != 2) continue;
    auto w = view<double, 2>(parameter->mutable_master());
    for (std::size_t row = 0; row < w.shape(0); ++row)
      for (std::size_t column = 0; column < w.shape(1); ++column)
        w(row, column) = (static_cast<double>((row + 3 * column) % 7) - 3) / 3 * (row % 2 ? 0.02 : 0.3);
  }
  model->parameters().refresh();
  double on_grid = model->loss(sequences).value().item();
  CHECK(mean(losses_with(*model, sequences, rounded(3, 0))) == Approx(on_grid).epsilon(1e-12));
}

TEST_CASE("interventions: change and standard error are over the same sequences") {
  auto model = model_of("baseline");
  Batch sequences = sequences_of(6);
  Interventions all = intervene(*model, sequences, default_interventions({1}));
  REQUIRE(all.results.size() == 6);
  CHECK(all.results[0].name == "removed 1");
  std::vector<double> after = losses_with(*model, sequences, of_token(What::value)), change;
  for (std::int64_t n = 0; n < 4; ++n)
    change.push_back(after[static_cast<std::size_t>(n)] - model->loss(sequences.rows(n, n + 1)).value().item());
  double squares = 0;
  for (double c : change) squares += std::pow(c - mean(change), 2);
  CHECK(all.results[0].change == Approx(mean(change)).epsilon(1e-12));
  CHECK(all.results[0].error == Approx(std::sqrt(squares / 3 / 4)).epsilon(1e-9));
  CHECK(std::isnan(intervene(*model, sequences.rows(0, 1), default_interventions({1})).results[0].error));
}

// The loss of the unchanged model is that of `eval sink`, and the change is a ratio of sums: a sequence counts as often
// as it has targets.
TEST_CASE("interventions: sequences with few targets, or none, count by their targets") {
  auto model = model_of("baseline");
  const Batch all = sequences_of(6);
  Tensor targets_BT = all.targets_BT().clone();
  const std::vector<std::int64_t> counts{6, 1, 0, 3};
  for (std::int64_t n = 0; n < 4; ++n)
    for (std::int64_t t = 0; t < 6 - counts[static_cast<std::size_t>(n)]; ++t)
      targets_BT.data<std::int32_t>()[n * 6 + t] = -1;
  const Batch some(all.tokens_BT(), targets_BT, 23);
  const Interventions found = intervene(*model, some, {of_token(What::value)});
  CHECK(found.loss == Approx(model->loss(some).value().item()).epsilon(1e-12));

  const std::vector<double> after = losses_with(*model, some, of_token(What::value));
  CHECK(std::isnan(after[2]));
  std::vector<double> change(4, 0.0);  // sums over targets
  for (std::size_t n = 0; n < 4; ++n) {
    if (counts[n] == 0) continue;
    const auto row = static_cast<std::int64_t>(n);
    change[n] = (after[n] - model->loss(some.rows(row, row + 1)).value().item()) * static_cast<double>(counts[n]);
  }
  const double ratio = (change[0] + change[1] + change[3]) / 10;
  double squares = 0;
  for (std::size_t n = 0; n < 4; ++n) squares += std::pow(change[n] - ratio * static_cast<double>(counts[n]), 2);
  CHECK(found.results[0].change == Approx(ratio).epsilon(1e-12));
  CHECK(found.results[0].error == Approx(std::sqrt(squares / 3 * 4) / 10).epsilon(1e-9));

  targets_BT.fill(-1);
  check_refused([&] { intervene(*model, Batch(all.tokens_BT(), targets_BT, 23), {of_token(What::value)}); },
                {"no token of the 4 sequences"}, Exit::usage);
}
