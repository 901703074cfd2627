// Optimizer: what turns the gradients of all parameters into new values of them: the part that all share. Each kind is
// a file of train/optimizers/; its formula stands there and in the operation that computes it.
//
// Gradients are clipped by the norm of all of them (--clip), whatever the kind. Weight decay is decoupled (Loshchilov
// and Hutter 2019) in all of them: w is multiplied by 1 - learning_rate weight_decay beside the step. It acts on all
// parameters, as in the study, or on matrices alone (--decay).
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

// A tensor that an optimiser keeps from step to step for one parameter, of its shape; shares the optimiser's numbers.
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
  void skip();

  // All that a run needs to go on, zero before the first step. In the order of the parameters. Where the share is the
  // whole.
  virtual std::vector<OptimizerState> state() const;
  // What it keeps for every number of its share, in their order: "first_moment". Empty for an optimiser that looks at
  // whole matrices, and so can have no other share than the whole.
  virtual std::vector<OptimizerState> moments() const { return {}; }
  const ParameterShards& shards() const { return shards_; }

 protected:
  // Neighbouring numbers of the arena that are updated alike, padding included.
  struct Range {
    Segment segment;
    double weight_decay;
  };
  // What belongs to one range, as slices of the arena; `copy` is undefined where there is none.
  struct Slices {
    Tensor gradient, weights, copy;
  };

  virtual void update(const Tensor& step_scalars) = 0;

  const ParameterArena& parameters() const { return parameters_; }
  double weight_decay_of(const Parameter& parameter) const;
  // The parameters that `belongs` takes, as few ranges as may be.
  std::vector<Range> ranges_of(const std::function<bool(const Parameter&)>& belongs) const;
  // f(range, slices) for what of the ranges has a gradient, in order.
  void for_each_with_gradient(const std::vector<Range>& ranges,
                              const std::function<void(const Range&, Slices&)>& f) const;
  // A tensor of zeros laid out like the master values of the share, for a number of state per parameter; its rows that
  // belong to a range.
  Tensor zeros_like_masters() const;
  Tensor rows_of(const Tensor& moment, const Range& range) const;
  // Of `parameter`, and of its copy.
  Slices slices_of(const Parameter& parameter) const;

 private:
  ParameterArena& parameters_;
  ParameterShards shards_;
  Tensor squares_;  // of the gradients' pieces
  double weight_decay_;
  bool decays_matrices_alone_;
};

// The optimiser that `config` names, of a share of the parameters or of all. Throws Error (Exit::usage) where one that
// looks at whole matrices is asked for less.
std::unique_ptr<Optimizer> make_optimizer(ParameterArena& parameters, const RunConfig& config,
                                          const ParameterShards& shards);
std::unique_ptr<Optimizer> make_optimizer(ParameterArena& parameters, const RunConfig& config);

// Weights of the products inside the blocks: matrices, without embeddings and without the unembedding.
bool is_hidden_matrix(const Parameter& parameter);

}  // namespace sink
