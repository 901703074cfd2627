// Lion (Chen et al. 2023): engine/ops/optimizer/lion.h has the formula. Its authors take beta1 = 0.9 and beta2 = 0.99,
// a learning rate 3 to 10 times smaller than AdamW's, and a weight decay as many times larger. State: momentum (m).
#include "engine/ops/optimizer/lion.h"
#include "train/optimizer.h"
#include "train/optimizers/optimizers.h"

namespace sink {
namespace {

class LionOptimizer : public Optimizer {
 public:
  LionOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
      : Optimizer(parameters, config, shards),
        settings_{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = 0, .clip = config.clip} {}

  std::vector<OptimizerState> moments() const override { return {{"momentum", momentum_}}; }

 private:
  void update(const Tensor& step_scalars) override {
    for_each_with_gradient(ranges_, [&](const Range& range, Slices& slices) {
      LionSettings settings = settings_;
      settings.weight_decay = range.weight_decay;
      Tensor m = rows_of(momentum_, range);
      lion(settings, step_scalars, slices.gradient, slices.weights, m, slices.copy);
    });
  }

  LionSettings settings_;
  std::vector<Range> ranges_ = all_ranges();
  Tensor momentum_ = zeros_like_masters();
};

}  // namespace

std::unique_ptr<Optimizer> make_lion(ParameterArena& parameters, const RunConfig& config,
                                     const ParameterShards& shards) {
  return std::make_unique<LionOptimizer>(parameters, config, shards);
}

}  // namespace sink
