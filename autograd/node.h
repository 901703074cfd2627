// Node: one recorded operation, as the tape sees it. Operations are plain structs with named saved tensors, so that a
// debugger shows what backward() reads; record.h makes nodes of them.
#pragma once

#include <vector>

#include "autograd/var.h"

namespace sink {

struct Node {
  virtual ~Node() = default;
  virtual const char* name() const = 0;
  // Reads the gradients of the outputs and adds to those of the inputs that require one.
  virtual void backward() = 0;
  // Whether the gradient of output i may be undefined if none has arrived. Else backward() finds zeros there.
  virtual bool allows_undefined_grad(std::size_t) const { return false; }

  std::vector<Gradient> outputs;
  const Tensor& output_grad(std::size_t i = 0) const { return outputs[i].value(); }
};

}  // namespace sink
