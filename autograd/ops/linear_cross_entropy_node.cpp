#include "autograd/ops/linear_cross_entropy_node.h"

#include <algorithm>

#include "autograd/ops/linear_node.h"
#include "engine/implementation.h"
#include "engine/ops/activation/activation.h"
#include "engine/ops/add/add.h"
#include "engine/ops/cross_entropy/cross_entropy.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/reductions/scaled_sum.h"
#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

namespace sink {
namespace {

// The rows of logits that are in memory at a time, in blocks of equal size. Each block reads the weight (V, C) and, in
// training, reads and writes its gradient.
// CPU: the logits of a block fit the last-level cache (16 MiB) where V allows it; at least 1,024 rows in training, and
// 64 in evaluation, which may have little memory and a large vocabulary. GPU: 1 GiB of logits, 10,645 rows of bf16 at V
// = 50,432. With 32K tokens and C = 768, the gradient is then read twice and written three times (0.8 GB) instead of
// about 31 times each (9.6 GB).
std::int64_t rows_per_block(std::int64_t rows, std::int64_t V, const Tensor& x, bool training) {
  const bool gpu = x.device() == Device::cuda;
  const std::int64_t block_bytes = std::int64_t{gpu ? 1024 : 16} << 20, fewest = training ? 1024 : 64;
  std::int64_t fitting = block_bytes / (V * static_cast<std::int64_t>(size_of(x.dtype())));
  std::int64_t blocks = std::max<std::int64_t>(1, rows / std::max(fitting, fewest));
  return (rows + blocks - 1) / blocks;
}

}  // namespace

void LinearCrossEntropyNode::backward(const Tensor& dloss) {
  scale(dx, dloss);
  scale(dw, dloss);
  weight->var().gradient().accumulate(std::move(dw));
  if (x_gradient.requires_grad()) x_gradient.accumulate(std::move(dx));
}

Var linear_cross_entropy(const Var& x, const Parameter& weight, const Tensor& targets, std::int64_t predicted,
                         double scale, Tensor* loss_of_rows, double logit_cap) {
  const Tensor& x_value = x.value();
  std::int64_t C = x_value.dim(-1), rows = x_value.size() / C, V = weight.info().shape[0];
  SINK_CHECK(targets.size() == rows, "linear_cross_entropy",
             "expected one target per row: x is " + x_value.str() + ", targets is " + targets.str());
  const double targets_counted = static_cast<double>(std::max<std::int64_t>(1, predicted));
  Tensor x_NC = x_value.reshape({rows, C}), targets_N = targets.reshape({rows});
  DType type = x_value.dtype(), master_type = accumulate_type(type);
  Tensor loss_N = x_value.new_empty({rows}, master_type);

  const bool training = recording_tape(x, &weight) != nullptr;
  Tensor dx, dw;
  if (training) {
    dx = Tensor::empty_like(x_value);
    dw = weight.var().gradient().grad_buffer();
  }
  if (weight.stored()) {  // by tiles of words, of which none has all logits, nor a gradient
    SINK_CHECK(weight.stored()->times == 1, "linear_cross_entropy", "the loss does not apply a factor of its weights",
               Exit::failure);
    stored_cross_entropy(x_NC, *weight.stored(), targets_N, logit_cap, loss_N);
  } else {
    std::int64_t block = rows_per_block(rows, V, x_value, training);
    Tensor logits_block = x_value.new_empty({std::min(block, rows), V}, type);
    for (std::int64_t first = 0; first < rows; first += block) {
      std::int64_t last = std::min(rows, first + block);
      Tensor logits = logits_block.rows(0, last - first), loss = loss_N.rows(first, last);
      matmul({x_NC.rows(first, last)}, transposed(weight.compute()), logits);
      if (logit_cap > 0) activation(logits, logits, SoftCap{logit_cap});
      const Tensor capped = training && logit_cap > 0 ? logits.clone() : Tensor();
      if (!training) {
        cross_entropy(logits, targets_N.rows(first, last), loss);
        continue;
      }
      cross_entropy_to_gradient(logits, targets_N.rows(first, last), scale / targets_counted, loss);
      if (logit_cap > 0) activation_backward(logits, capped, logits, SoftCap{logit_cap});
      Tensor dx_block = dx.reshape({rows, C}).rows(first, last);
      matmul({logits}, {weight.compute()}, dx_block);
      matmul(transposed(logits), {x_NC.rows(first, last)}, dw, /*accumulate=*/first > 0);
    }
  }

  Tensor loss = x_value.new_empty({1}, master_type);
  scaled_sum(loss_N, scale, targets_counted, loss);
  if (loss_of_rows) *loss_of_rows = loss_N;
  return record<LinearCrossEntropyNode>(loss, x.gradient(), &weight, dx, dw);
}

}  // namespace sink
