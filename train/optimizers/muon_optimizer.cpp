#include "train/optimizers/muon_optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/optimizer/momentum.h"
#include "engine/ops/optimizer/orthogonalize.h"
#include "engine/ops/optimizer/weight_step.h"
#include "train/optimizers/adamw_optimizer.h"

namespace sink {
namespace {

constexpr double kRootMeanSquare = 0.2;  // of an update of AdamW

}  // namespace

MuonOptimizer::MuonOptimizer(ParameterArena& parameters, const RunConfig& config)
    : Optimizer(parameters, config, ParameterShards(parameters)),
      adamw_(adamw_settings(config)),
      momentum_(config.momentum),
      clip_(config.clip),
      others_(ranges_of([](const Parameter& parameter) { return !is_hidden_matrix(parameter); })),
      first_(zeros_like_masters()) {
  for (const Range& range : others_) second_.push_back(first_.new_zeros({range.segment.size()}, first_.dtype()));
}

void MuonOptimizer::update(const Tensor& step_scalars) {
  for (std::size_t n = 0; n < others_.size(); ++n) {
    std::int64_t first_of_range = others_[n].segment.begin;
    for_each_with_gradient({others_[n]}, [&](const Range& range, Slices& of) {
      AdamwSettings settings = adamw_;
      settings.weight_decay = range.weight_decay;
      std::int64_t begin = range.segment.begin, end = range.segment.end;
      Tensor m = first_.rows(begin, end), v = second_[n].rows(begin - first_of_range, end - first_of_range);
      adamw(settings, step_scalars, of.gradient, of.weights, m, v, of.copy);
    });
  }
  for (const auto& parameter : parameters())
    if (is_hidden_matrix(*parameter) && parameter->var().grad().defined()) update_matrix(*parameter, step_scalars);
}

void MuonOptimizer::update_matrix(const Parameter& matrix, const Tensor& step_scalars) {
  Slices of = slices_of(matrix);
  Tensor m = ParameterArena::slice(first_, matrix), u = Tensor::empty_like(m), direction = Tensor::empty_like(m);
  momentum({.momentum = momentum_, .clip = clip_}, step_scalars, of.gradient, m, u);
  orthogonalize(u, direction);
  double scale = kRootMeanSquare * std::sqrt(static_cast<double>(std::max(m.dim(0), m.dim(1))));
  weight_step({.weight_decay = weight_decay_of(matrix), .scale = scale}, step_scalars, direction, of.weights, of.copy);
}

std::vector<OptimizerState> MuonOptimizer::state() const {
  std::vector<OptimizerState> state;
  std::size_t n = 0;
  for (const auto& parameter : parameters()) {
    Tensor first = ParameterArena::slice(first_, *parameter);
    if (is_hidden_matrix(*parameter)) {
      state.push_back({"momentum/" + parameter->name(), first});
      continue;
    }
    while (others_[n].segment.end <= parameter->segment().begin) ++n;
    std::int64_t begin = parameter->segment().begin - others_[n].segment.begin;
    state.push_back({"first_moment/" + parameter->name(), first});
    state.push_back({"second_moment/" + parameter->name(), second_[n].slice(begin, parameter->info().shape)});
  }
  return state;
}

}  // namespace sink
