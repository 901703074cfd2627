// Muon (Jordan et al. 2024) for the matrices inside the blocks, AdamW for all else: embeddings, unembedding, gains,
// biases, extra keys. For a matrix W of M x N numbers with clipped gradient G,
//   m = momentum m + G,  u = G + momentum m                      (Nesterov; engine/ops/optimizer/momentum.h)
//   O = orthogonalize(u)                                         (five Newton-Schulz steps; engine/ops/optimizer/)
//   W = W (1 - learning_rate weight_decay) - learning_rate 0.2 sqrt(max(M, N)) O
// The factor is that of Liu et al. 2025 ("Muon is Scalable for LLM Training", 2502.16982, section 2.2; in PyTorch
// adjust_lr_fn = "match_rms_adamw"): it gives an update the root mean square 0.2 that AdamW's usually have, so that one
// learning rate and one decay serve both halves. Jordan's own is sqrt(max(1, M / N)), with a learning rate of its own.
// Queries, keys and values are one matrix here, and so are gate and up: each is made orthogonal as it is stored.
#pragma once

#include "engine/ops/optimizer/adamw.h"
#include "train/optimizer.h"

namespace sink {

class MuonOptimizer : public Optimizer {
 public:
  MuonOptimizer(ParameterArena& parameters, const RunConfig& config);
  // momentum of the matrices; first_moment and second_moment of the others
  std::vector<OptimizerState> state() const override;

 private:
  void update(const Tensor& step_scalars) override;
  void update_matrix(const Parameter& matrix, const Tensor& step_scalars);

  AdamwSettings adamw_;
  double momentum_, clip_;
  std::vector<Range> others_;
  std::vector<Tensor> second_;  // v of each range of the others
  Tensor first_;                // laid out like the master values: m of the matrices, and of the others
};

}  // namespace sink
