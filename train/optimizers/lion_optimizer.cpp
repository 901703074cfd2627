// Lion (Chen et al. 2023): engine/ops/optimizer/lion.h has the formula. Its authors take beta1 = 0.9 and beta2 = 0.99,
// a learning rate 3 to 10 times smaller than AdamW's, and a weight decay as many times larger. State: momentum (m).
#include "engine/ops/optimizer/lion.h"
#include "train/optimizers/element_wise_optimizer.h"
#include "train/optimizers/optimizers.h"

namespace sink {

std::unique_ptr<Optimizer> make_lion(ParameterArena& parameters, const RunConfig& config,
                                     const ParameterShards& shards) {
  const LionSettings settings{.beta1 = config.beta1, .beta2 = config.beta2};
  return std::make_unique<ElementWiseOptimizer<Lion>>(parameters, config, shards, settings);
}

}  // namespace sink
