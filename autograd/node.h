// Node: one recorded operation. Each kind is a named struct with named saved tensors, so that a debugger shows what
// backward() sees.
#pragma once

#include <vector>

#include "autograd/var.h"

namespace sink {

struct Node {
  virtual ~Node() = default;
  virtual const char* name() const = 0;
  // Reads the gradients of the outputs and adds to those of the inputs that want one.
  virtual void backward() = 0;
  // Whether backward() does without the gradient of output i where none has arrived; else it finds zeros there.
  virtual bool allows_undefined_grad(std::size_t) const { return false; }

  std::vector<Gradient> outputs;
  const Tensor& output_grad(std::size_t i = 0) const { return outputs[i].value(); }
};

}  // namespace sink
