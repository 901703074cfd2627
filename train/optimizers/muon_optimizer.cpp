// Muon (Jordan et al. 2024) for the matrices inside the blocks, AdamW for all other parameters: embeddings,
// unembedding, gains, biases, extra keys. For an M x N matrix W with clipped gradient G,
//   m = momentum m + G,  u = G + momentum m                      (Nesterov; engine/ops/optimizer/momentum.h)
//   O = orthogonalize(u)                                         (five Newton-Schulz steps; engine/ops/optimizer/)
//   W = W (1 - learning_rate weight_decay) - learning_rate 0.2 sqrt(max(M, N)) O
// The factor is that of Liu et al. 2025 ("Muon is Scalable for LLM Training", 2502.16982, section 2.2; in PyTorch
// adjust_lr_fn = "match_rms_adamw"): it gives an update the root mean square 0.2 that AdamW's usually have, so that one
// learning rate and one decay serve both halves. Jordan's own is sqrt(max(1, M / N)), with a learning rate of its own.
// Queries, keys and values are one matrix here, and so are gate and up: each is made orthogonal as it is stored.
// State: momentum (m) of the matrices inside the blocks; first_moment, second_moment of all other parameters.
#include <algorithm>
#include <cmath>

#include "engine/ops/optimizer/adamw.h"
#include "engine/ops/optimizer/momentum.h"
#include "engine/ops/optimizer/orthogonalize.h"
#include "engine/ops/optimizer/weight_step.h"
#include "train/optimizer.h"
#include "train/optimizers/optimizers.h"

namespace sink {
namespace {

constexpr double kRootMeanSquare = 0.2;  // of an update of AdamW

class MuonOptimizer : public Optimizer {
 public:
  MuonOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
      : Optimizer(parameters, config, shards),
        adamw_(adamw_settings(config)),
        momentum_(config.momentum),
        clip_(config.clip),
        others_(ranges_of([](const Parameter& parameter) { return !is_hidden_matrix(parameter); })),
        first_(zeros_like_masters()) {
    for (const Range& range : others_) second_.push_back(first_.new_zeros({range.segment.size()}, first_.dtype()));
  }

  std::vector<OptimizerState> state() const override {
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

 private:
  void update(const Tensor& step_scalars) override {
    for (std::size_t n = 0; n < others_.size(); ++n) {
      std::int64_t first_of_range = others_[n].segment.begin;
      for_each_with_gradient({others_[n]}, [&](const Range& range, Slices& slices) {
        AdamwSettings settings = adamw_;
        settings.weight_decay = range.weight_decay;
        std::int64_t begin = range.segment.begin, end = range.segment.end;
        Tensor m = first_.rows(begin, end), v = second_[n].rows(begin - first_of_range, end - first_of_range);
        adamw(settings, step_scalars, slices.gradient, slices.weights, m, v, slices.copy);
      });
    }
    for (const auto& parameter : parameters())
      if (is_hidden_matrix(*parameter) && parameter->var().grad().defined()) update_matrix(*parameter, step_scalars);
  }

  void update_matrix(const Parameter& matrix, const Tensor& step_scalars) {
    Slices slices = slices_of(matrix);
    Tensor m = ParameterArena::slice(first_, matrix), u = Tensor::empty_like(m), direction = Tensor::empty_like(m);
    momentum({.momentum = momentum_, .clip = clip_}, step_scalars, slices.gradient, m, u);
    orthogonalize(u, direction);
    double scale = kRootMeanSquare * std::sqrt(static_cast<double>(std::max(m.dim(0), m.dim(1))));
    weight_step({.weight_decay = weight_decay_of(matrix), .scale = scale}, step_scalars, direction, slices.weights,
                slices.copy);
  }

  AdamwSettings adamw_;
  double momentum_, clip_;
  std::vector<Range> others_;
  std::vector<Tensor> second_;  // v of each range of the others
  Tensor first_;                // laid out like the master values: m of the matrices, and of the others
};

}  // namespace

std::unique_ptr<Optimizer> make_muon(ParameterArena& parameters, const RunConfig& config,
                                     const ParameterShards& shards) {
  return std::make_unique<MuonOptimizer>(parameters, config, shards);
}

}  // namespace sink
