// A linear layer of a block: y = x W^T, or x W^T + b where the model has biases (model/linear_bias/).
#pragma once

#include "autograd/ops/add_bias_node.h"
#include "autograd/ops/linear_node.h"

namespace sink {

struct LinearLayer {
  const Parameter& weight;
  const Parameter* bias;  // null: none

  Var operator()(const Var& x) const {
    Var y = linear(x, weight);
    return bias ? add_bias(y, *bias) : y;
  }
};

}  // namespace sink
