// The distributions of initial values, by scheme, kind of parameter and kind of feed-forward block (paper: the released
// _init_weights; `torch`: nn.Linear without a bias and nn.Embedding).
#include "model/parameter_factory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "model/all_ablations.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

void check_init(const ParameterInfo& parameter, const Init& expected) {
  CHECK(parameter.init.kind == expected.kind);
  CHECK(parameter.init.scale == doctest::Approx(expected.scale).epsilon(1e-14));
}

// By the formulas of model/parameter_factory.h, for a parameter of a whole model.
Init expected_of(const ParameterInfo& parameter, const std::string& scheme, const Ablation& ablation,
                 const Sizes& sizes) {
  using Kind = Init::Kind;
  switch (parameter.role) {
    case ParameterRole::norm_gain:
      return {Kind::constant, 1};
    case ParameterRole::norm_bias:
    case ParameterRole::linear_bias:
      return {Kind::constant, 0};
    case ParameterRole::extra_key:
    case ParameterRole::extra_value:
    case ParameterRole::extra_logit:
    case ParameterRole::score_bias:
      return {Kind::normal, 0.02};
    case ParameterRole::embedding:
      return {Kind::normal, scheme == "torch" ? 1 : std::sqrt(0.4 / static_cast<double>(sizes.width))};
    case ParameterRole::weight:
    case ParameterRole::recurrence:
      break;
  }
  const bool side_by_side = parameter.axes == "out E*in";  // the last matrices of all experts
  const std::int64_t columns = parameter.shape.rank() == 1 ? 1 : parameter.shape[1];
  const double in = static_cast<double>(columns / (side_by_side ? sizes.expert_count() : 1));
  if (scheme == "torch") return {Kind::uniform, 1 / std::sqrt(in)};
  const bool last = parameter.name.ends_with(".feed_forward.down.weight") && !side_by_side;
  const bool swiglu = contains(ablation.policies + " ", "feed_forward=SwiGlu ");
  if (last && (scheme == "formula" || swiglu))
    return {Kind::normal, 1 / (std::sqrt(in) * static_cast<double>(sizes.layers))};
  return {Kind::normal, std::sqrt(0.4 / in)};
}

}  // namespace

TEST_CASE("initial values: every kind of parameter has the distribution of its scheme, by hand") {
  const Init zeros{Init::Kind::constant, 0}, ones{Init::Kind::constant, 1}, small{Init::Kind::normal, 0.02};
  const auto uniform = [](double bound) { return Init{Init::Kind::uniform, bound}; };
  const auto normal = [](double deviation) { return Init{Init::Kind::normal, deviation}; };
  struct Expected {
    Init torch, formula, formula_study;
  };
  // in = 10: sqrt(2 / 50) = 0.2. in = 16 with 5 layers: 1 / (4 * 5) = 0.05, or sqrt(2 / 80). C = 40: sqrt(2 / 200) =
  // 0.1.
  const std::map<std::string, Expected> table{
      {"linear", {uniform(0.316227766016837933), normal(0.2), normal(0.2)}},
      {"experts", {uniform(0.316227766016837933), normal(0.2), normal(0.2)}},
      {"recurrence", {uniform(0.316227766016837933), normal(0.2), normal(0.2)}},
      {"last of swiglu", {uniform(0.25), normal(0.05), normal(0.05)}},
      {"last of others", {uniform(0.25), normal(0.05), normal(0.158113883008418967)}},
      {"embedding", {normal(1), normal(0.1), normal(0.1)}},
      {"extra key", {small, small, small}},
      {"extra value", {small, small, small}},
      {"extra logit", {small, small, small}},
      {"score bias", {small, small, small}},
      {"gain", {ones, ones, ones}},
      {"norm bias", {zeros, zeros, zeros}},
      {"linear bias", {zeros, zeros, zeros}},
      {"biases of experts", {zeros, zeros, zeros}},
  };
  for (const std::string scheme : {"torch", "formula", "formula-study"}) {
    CAPTURE(scheme);
    ParameterFactory make({.layers = 5, .heads = 2, .width = 40}, 0, init_scheme(scheme), 1, DType::F32);
    make.linear("linear", 7, 10);
    make.stacked_linear("experts", 7, 10, 3);
    make.recurrence("recurrence", {7, 10}, "E K", 10);
    make.depth_scaled_linear("last of swiglu", 7, 16, /*of_swiglu=*/true);
    make.depth_scaled_linear("last of others", 7, 16, /*of_swiglu=*/false);
    make.embedding("embedding", 9, 40, "V C");
    make.normal_init(ParameterRole::extra_key, "extra key", {2, 20}, "H D");
    make.normal_init(ParameterRole::extra_value, "extra value", {2, 20}, "H D");
    make.normal_init(ParameterRole::extra_logit, "extra logit", {2}, "H");
    make.normal_init(ParameterRole::score_bias, "score bias", {2, 32}, "H bucket");
    make.gain("gain", 40);
    make.bias("norm bias", 40);
    make.linear_bias("linear bias", 7, true);
    make.linear_biases("biases of experts", 7, 3, true);
    CHECK(make.linear_bias("no bias", 7, false) == nullptr);
    CHECK(make.linear_biases("no biases", 7, 3, false) == nullptr);
    const ParameterArena parameters = make.take();
    CHECK(parameters.size() == table.size());
    for (const auto& parameter : parameters) {
      CAPTURE(parameter->name());
      const Expected& expected = table.at(parameter->name());
      check_init(parameter->info(), scheme == "torch"     ? expected.torch
                                    : scheme == "formula" ? expected.formula
                                                          : expected.formula_study);
    }
  }
}

TEST_CASE("initial values: every parameter of every ablation has the distribution of its role") {
  Sizes sizes{.layers = 3, .heads = 2, .width = 128, .feed_forward = 24, .context = 8, .vocabulary = 31};
  std::map<ParameterRole, int> seen;
  for (const Ablation& ablation : repository_ablations()) {
    CAPTURE(ablation.name);
    sizes.attention_every = ablation.name == "qwen3_5" ? 2 : 0;
    for (const std::string scheme : {"torch", "formula", "formula-study"}) {
      CAPTURE(scheme);
      const auto model = ablation.make_model(sizes, init_scheme(scheme), 1, DType::F32);
      for (const auto& parameter : model->parameters()) {
        CAPTURE(parameter->name());
        check_init(parameter->info(), expected_of(parameter->info(), scheme, ablation, sizes));
        ++seen[parameter->info().role];
      }
    }
  }
  CHECK((seen.size() == 10 || ablations_left_out() > 0));
}

TEST_CASE("initial values: a scheme that there is not is refused") {
  CHECK(exit_of([] { init_scheme("xavier"); }) == Exit::usage);
}
