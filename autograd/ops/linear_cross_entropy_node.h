// The unembedding and the loss in one: loss = scale * mean over targets of cross_entropy(x W^T).
//
// The loss is the last operation, so its gradient is known up to one factor while the logits are at hand. Both products
// of the backward pass are therefore taken at once, a block of rows at a time: the logits of a block are stored once
// (twice where they are capped), turned into their gradient in place and never kept.
#pragma once

#include "autograd/parameter.h"
#include "autograd/record.h"

namespace sink {

struct LinearCrossEntropyNode {
  Gradient x_gradient;
  const Parameter* weight;
  Tensor dx, dw;  // for d loss = 1

  static constexpr const char* name = "linear_cross_entropy";
  void backward(const Tensor& dloss);
};

// x: (..., C); weight: (V, C); targets: I32, one per row of x, -1 = ignored; `predicted` of them are not: where none
// is, loss and gradients are 0. Returns a tensor of one element; `loss_of_rows`, if given, becomes the unscaled loss of
// every row, 0 where it is ignored. `logit_cap`: logits are cap tanh(x W^T / cap); 0: not.
Var linear_cross_entropy(const Var& x, const Parameter& weight, const Tensor& targets, std::int64_t predicted,
                         double scale, Tensor* loss_of_rows = nullptr, double logit_cap = 0);

}  // namespace sink
