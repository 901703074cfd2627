// AdamW (Loshchilov and Hutter 2019), the optimizer of the paper; engine/ops/optimizer/adamw.h has the formula. One
// call updates the whole arena if all of it has the same decay. State: first_moment (m), second_moment (v).
#include "engine/ops/optimizer/adamw.h"
#include "train/optimizer.h"
#include "train/optimizers/optimizers.h"

namespace sink {
namespace {

class AdamwOptimizer : public Optimizer {
 public:
  AdamwOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
      : Optimizer(parameters, config, shards), settings_(adamw_settings(config)) {}

  std::vector<OptimizerState> moments() const override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void update(const Tensor& step_scalars) override {
    for_each_with_gradient(ranges_, [&](const Range& range, Slices& slices) {
      AdamwSettings settings = settings_;
      settings.weight_decay = range.weight_decay;
      Tensor m = rows_of(first_, range), v = rows_of(second_, range);
      adamw(settings, step_scalars, slices.gradient, slices.weights, m, v, slices.copy);
    });
  }

  AdamwSettings settings_;
  std::vector<Range> ranges_ = all_ranges();
  Tensor first_ = zeros_like_masters(), second_ = zeros_like_masters();
};

}  // namespace

AdamwSettings adamw_settings(const RunConfig& config) {
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.adam_epsilon,
          .weight_decay = 0,
          .clip = config.clip};
}

std::unique_ptr<Optimizer> make_adamw(ParameterArena& parameters, const RunConfig& config,
                                      const ParameterShards& shards) {
  return std::make_unique<AdamwOptimizer>(parameters, config, shards);
}

}  // namespace sink
