// The kinds of optimisers: each is a class in train/optimizers/<name>_optimizer.cpp, whose formula is at its top.
#pragma once

#include "engine/ops/optimizer/adamw.h"
#include "train/optimizer.h"

namespace sink {

std::unique_ptr<Optimizer> make_adamw(ParameterArena& parameters, const RunConfig& config,
                                      const ParameterShards& shards);
std::unique_ptr<Optimizer> make_lion(ParameterArena& parameters, const RunConfig& config,
                                     const ParameterShards& shards);
std::unique_ptr<Optimizer> make_sgd(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards);
// These update whole matrices, so they cannot be sharded.
std::unique_ptr<Optimizer> make_muon(ParameterArena& parameters, const RunConfig& config);
std::unique_ptr<Optimizer> make_ortho_adam(ParameterArena& parameters, const RunConfig& config);

// Settings without weight decay, which differs between parameters.
AdamwSettings adamw_settings(const RunConfig& config);

}  // namespace sink
