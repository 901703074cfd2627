// Interventions against the same thing done with whole attention maps, row by row, and against models that do not see
// the key at all; rounding against values by hand.
#include "eval/interventions.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "tests/support/built_ablations.h"

using namespace sink;
using test::is_built;

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

// The intervention by its definition: the layer's map, kept by the probe, is changed and multiplied with the values.
struct ByMaps final : Probe, Edit {
  KeyIntervention kind;
  std::int64_t key;
  std::vector<Tensor> maps_H;  // of one sequence
  bool extra_key = false;

  void hidden(std::int64_t, const Tensor&) override {}
  void attention(const AttentionView& view) override {
    maps_H.clear();
    extra_key = view.extra_key;
    for (std::int64_t h = 0; h < view.q_BHTD.dim(1); ++h) maps_H.push_back(view.map(0, h));
  }
  // The extra keys of these tests have the value zero.
  Tensor attention_output(const AttentionOutput& attention) override {
    Tensor o = attention.o_BHTD.clone();
    auto o_BHTD = view<double, 4>(o);
    auto v_BGTD = view<double, 4>(attention.v_BGTD);
    const std::int64_t H = o.dim(1), T = o.dim(2), D = o.dim(3), G = attention.v_BGTD.dim(1);
    for (std::int64_t h = 0; h < H; ++h) {
      auto a = view<double, 2>(maps_H[static_cast<std::size_t>(h)]);
      const std::int64_t first = extra_key ? 1 : 0;
      double mean = 0;
      for (std::int64_t i = key + 1; i < T; ++i) mean += a(i, first + key) / static_cast<double>(T - 1 - key);
      for (std::int64_t i = key + 1; i < T; ++i) {
        double all = 0;
        for (std::int64_t j = 0; j < first + T; ++j) all += a(i, j);
        for (std::int64_t d = 0; d < D; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < T; ++j) {
            double weight = a(i, first + j);
            if (j == key) weight = kind == KeyIntervention::constant ? mean : 0;
            sum += weight * v_BGTD(0, h / (H / G), j, d);
          }
          double rest = all - a(i, first + key);  // zero in rows of ReLU that have nothing else
          if (kind == KeyIntervention::redistributed && std::abs(rest) > 1e-6 * all) sum *= all / rest;
          o_BHTD(0, h, i, d) = sum;
        }
      }
    }
    return o;
  }
};

std::vector<double> losses_by_maps(LanguageModel& model, const Batch& sequences, KeyIntervention kind,
                                   std::int64_t key) {
  std::vector<double> losses;
  for (std::int64_t n = 0; n < sequences.sequences(); ++n) {
    ByMaps by_maps;
    by_maps.kind = kind;
    by_maps.key = key;
    losses.push_back(model.loss(sequences.rows(n, n + 1), 1, {.probe = &by_maps, .edit = &by_maps}).value().item());
  }
  return losses;
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
        for (KeyIntervention kind :
             {KeyIntervention::removed, KeyIntervention::redistributed, KeyIntervention::constant}) {
          CAPTURE(ablation);
          CAPTURE(token);
          std::vector<double> ours = losses_with(*model, sequences, kind, token),
                              theirs = losses_by_maps(*model, sequences, kind, model->extra_tokens() + token - 1);
          for (std::size_t n = 0; n < ours.size(); ++n) CHECK(ours[n] == Approx(theirs[n]).epsilon(1e-12));
        }
    }
  }
}

TEST_CASE("interventions: without the first of two tokens a model is one whose window is one token") {
  Batch sequences = sequences_of(2);
  auto check = [&](const std::string& ablation, KeyIntervention kind) {
    CAPTURE(ablation);
    auto narrow = model_of(ablation, /*window=*/1), wide = model_of(ablation);
    double loss = mean(losses_with(*wide, sequences, kind, 1));
    CHECK(loss == Approx(narrow->loss(sequences).value().item()).epsilon(1e-12));
    CHECK(loss != Approx(wide->loss(sequences).value().item()).epsilon(1e-6));
  };
  check("baseline", KeyIntervention::redistributed);
  if (is_built("bias_k")) check("bias_k", KeyIntervention::redistributed);
  if (is_built("op_sigmoid_none")) check("op_sigmoid_none", KeyIntervention::removed);
}

TEST_CASE("interventions: the last token's share is nobody's, and what one query gets is already constant") {
  auto model = model_of("baseline");
  Batch sequences = sequences_of(6);
  double loss = model->loss(sequences).value().item();
  CHECK(mean(losses_with(*model, sequences, KeyIntervention::removed, 6)) == Approx(loss).epsilon(1e-14));
  CHECK(mean(losses_with(*model, sequences, KeyIntervention::constant, 5)) == Approx(loss).epsilon(1e-14));
  CHECK_THROWS_WITH_AS(losses_with(*model, sequences, KeyIntervention::removed, 7),
                       "[interventions] the token must be from 1 to 6, got 7", Error);
}

TEST_CASE("interventions: rounding to few bits") {
  CHECK(quantised(0.5, 1, 2) == 0);  // -1, 0, 1; the even one of two that are as near
  CHECK(quantised(0.6, 1, 2) == 1);
  CHECK(quantised(-0.9, 3.5, 4) == -1.0);  // steps of 0.5
  CHECK(quantised(3.5, 3.5, 4) == 3.5);
  CHECK(quantised(0, 0, 8) == 0);
}

TEST_CASE("interventions: precision; the model is afterwards what it was") {
  auto model = model_of("baseline");
  Batch sequences = sequences_of(9);
  double loss = model->loss(sequences).value().item();
  double fine = mean(losses_with(*model, sequences, Quantisation{30, 30}));
  double coarse = mean(losses_with(*model, sequences, Quantisation{3, 3}));
  CHECK(fine == Approx(loss).epsilon(1e-7));
  CHECK(std::abs(coarse - loss) > 1e-3);
  CHECK(mean(losses_with(*model, sequences, Quantisation{3, 0})) != Approx(coarse).epsilon(1e-6));
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
  CHECK(mean(losses_with(*model, sequences, Quantisation{3, 0})) == Approx(on_grid).epsilon(1e-12));
}

TEST_CASE("interventions: change and standard error are over the same sequences") {
  auto model = model_of("baseline");
  Batch sequences = sequences_of(6);
  Interventions all = intervene(*model, sequences, {1});
  REQUIRE(all.results.size() == 6);
  CHECK(all.results[0].name == "removed 1");
  std::vector<double> after = losses_with(*model, sequences, KeyIntervention::removed, 1), change;
  for (std::int64_t n = 0; n < 4; ++n)
    change.push_back(after[static_cast<std::size_t>(n)] - model->loss(sequences.rows(n, n + 1)).value().item());
  double squares = 0;
  for (double c : change) squares += std::pow(c - mean(change), 2);
  CHECK(all.results[0].change == Approx(mean(change)).epsilon(1e-12));
  CHECK(all.results[0].error == Approx(std::sqrt(squares / 3 / 4)).epsilon(1e-9));
  CHECK(std::isnan(intervene(*model, sequences.rows(0, 1), {1}).results[0].error));
}
