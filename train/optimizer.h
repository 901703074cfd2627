// Optimizer: turns the gradients of all parameters into new values of the parameters. This is the base class; each kind
// is a file of train/optimizers/, with its formula, and the formula's operation is in engine/ops/optimizer/.
//
// Gradients are clipped by their global norm (--clip), for every kind. Weight decay is decoupled for every kind
// (Loshchilov and Hutter 2019): w is multiplied by 1 - learning_rate weight_decay in addition to the step. It acts on
// all parameters, as in the paper, or only on matrices (--decay).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/parameter_arena.h"
#include "engine/ops/optimizer/update.h"
#include "train/distributed/distributed_strategy.h"
#include "train/run_config.h"

namespace sink {

// A tensor that an optimizer keeps from step to step for one parameter, with its shape. Shares the optimizer's memory.
struct OptimizerState {
  std::string name;  // "first_moment/blocks.0.attention.qkv.weight"
  Tensor values;
};

class Optimizer {
 public:
  // Keeps `parameters` and allocates their gradients. Updates the elements that are in `shards`.
  Optimizer(ParameterArena& parameters, const RunConfig& config, ParameterShards shards);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // The sum of the squares of all gradients; `sum`: F64, of one element. NaN or infinite if any gradient is. `strategy`
  // gathers those of other processes' shards. The same bits for any number of processes.
  void sum_squared_gradients(Tensor& sum, DistributedStrategy* strategy = nullptr) const;
  // Clips by the norm (the root of that sum), updates the parameters that have a gradient, and drops the gradients.
  // `step_scalars` (engine/ops/optimizer/update.h) are on the device of the parameters and are not read back.
  void step(const Tensor& step_scalars);
  // Drops the gradients and changes nothing else.
  void zero_grad();

  // The state that a resumed run needs, in the order of the parameters; zeros before the first step. Only if
  // shards().is_whole().
  virtual std::vector<OptimizerState> state() const;
  // The state per element of the shards, in their order: "first_moment". Empty for an optimizer that updates whole
  // matrices, which cannot be sharded.
  virtual std::vector<OptimizerState> moments() const { return {}; }
  const ParameterShards& shards() const { return shards_; }

 protected:
  // A contiguous range of the arena, including padding, whose elements are updated alike.
  struct Range {
    Segment segment;
    double weight_decay;
  };
  // The slices of the arena of one range; `copy`: the BF16 copy of the weights that products read, undefined without
  // one.
  struct Slices {
    Tensor gradient, weights, copy;
  };

  virtual void update(const Tensor& step_scalars) = 0;

  const ParameterArena& parameters() const { return parameters_; }
  // Of a parameter that decays as a whole or not at all.
  double weight_decay_of(const Parameter& parameter) const;
  // The parameters for which `belongs` is true, as few ranges as possible.
  std::vector<Range> ranges_of(const std::function<bool(const Parameter&)>& belongs) const;
  std::vector<Range> all_ranges() const {
    return ranges_of([](const Parameter&) { return true; });
  }
  // Calls f(range, slices) in order for the parts of the ranges that have a gradient.
  void for_each_with_gradient(const std::vector<Range>& ranges,
                              const std::function<void(const Range&, Slices&)>& f) const;
  // zeros_like_masters(): state for the elements of the shards, laid out like the master values. rows_of(): its rows of
  // one range.
  Tensor zeros_like_masters() const;
  Tensor rows_of(const Tensor& moment, const Range& range) const;
  // The slices of one parameter.
  Slices slices_of(const Parameter& parameter) const;

 private:
  ParameterArena& parameters_;
  ParameterShards shards_;
  Tensor squares_;  // partial squared norms, one per kSquaredNormBlock gradient elements
  double weight_decay_;
  std::string decay_;  // a group of decayed_part
  Sizes sizes_;
};

// The optimizer that `config` names, for a shard of the parameters or for all. Throws Error (Exit::usage) for a shard
// if the optimizer updates whole matrices.
std::unique_ptr<Optimizer> make_optimizer(ParameterArena& parameters, const RunConfig& config,
                                          const ParameterShards& shards);
std::unique_ptr<Optimizer> make_optimizer(ParameterArena& parameters, const RunConfig& config);

// Which parameters decay: the setting --decay. Groups of the question which weights must decay for a sink to appear.
//   all          every parameter, as in the paper
//   matrices     weights of products, as is usual elsewhere: no embeddings, gains, biases, extra keys
//   qk           the rows of attention.qkv.weight that make queries and keys
//   vo           its rows that make values, and attention.out.weight
//   ffn          weights of the feed-forward blocks
//   embeddings   embedding.*.weight and unembedding.weight
//   gains        gains of the norms
//
// The elements of a parameter that decay, counted from its first; empty if none does.
Segment decayed_part(const ParameterInfo& parameter, const std::string& decay, const Sizes& sizes);

// Weights of the products inside the blocks: matrices, without embeddings and without the unembedding.
bool is_hidden_matrix(const Parameter& parameter);

}  // namespace sink
