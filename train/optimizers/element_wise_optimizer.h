// An optimizer whose step is one element-wise update U of the weights and of its state
// (engine/ops/optimizer/updates.h).
#pragma once

#include <utility>

#include "train/optimizer.h"

namespace sink {

template <class U>
class ElementWiseOptimizer : public Optimizer {
 public:
  // Settings without clip, and without weight decay, which differs between parameters.
  ElementWiseOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards,
                       const typename U::Settings& settings)
      : Optimizer(parameters, config, shards), settings_(settings) {
    settings_.clip = config.clip;
    for (const char* name : U::state) state_.push_back({name, zeros_like_masters()});
  }

  std::vector<OptimizerState> moments() const override { return state_; }

 private:
  void update(const Tensor& step_scalars) override {
    for_each_with_gradient(ranges_, [&](const Range& range, Slices& slices) {
      typename U::Settings settings = settings_;
      settings.weight_decay = range.weight_decay;
      std::vector<Tensor> x;
      for (const OptimizerState& state : state_) x.push_back(rows_of(state.values, range));
      [&]<std::size_t... n>(std::index_sequence<n...>) {
        update_elements<U>(settings, step_scalars, slices.gradient, slices.copy, slices.weights, x[n]...);
      }
      (std::make_index_sequence<std::size(U::state)>());
    });
  }

  typename U::Settings settings_;
  std::vector<Range> ranges_ = all_ranges();
  std::vector<OptimizerState> state_;
};

}  // namespace sink
