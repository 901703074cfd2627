// AdamW (Loshchilov and Hutter 2019), the optimizer of the paper; engine/ops/optimizer/adamw.h has the formula. One
// call updates the whole arena if all of it has the same decay. State: first_moment (m), second_moment (v).
#include "engine/ops/optimizer/adamw.h"
#include "train/optimizers/element_wise_optimizer.h"
#include "train/optimizers/optimizers.h"

namespace sink {

AdamwSettings adamw_settings(const RunConfig& config) {
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.adam_epsilon,
          .weight_decay = 0,
          .clip = config.clip};
}

std::unique_ptr<Optimizer> make_adamw(ParameterArena& parameters, const RunConfig& config,
                                      const ParameterShards& shards) {
  return std::make_unique<ElementWiseOptimizer<Adamw>>(parameters, config, shards, adamw_settings(config));
}

}  // namespace sink
