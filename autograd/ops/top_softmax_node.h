// p = softmax over the k largest numbers of every row, 0 for the others.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/top_softmax/top_softmax.h"

namespace sink {

struct TopSoftmaxNode : Node {
  Gradient x_gradient;
  Tensor p;

  const char* name() const override { return "top_softmax"; }
  void backward() override {
    Tensor dx = Tensor::empty_like(p);
    top_softmax_backward(output_grad(), p, dx);
    x_gradient.accumulate(std::move(dx));
  }
};

inline Var top_softmax(const Var& x, std::int64_t k) {
  Tensor p = Tensor::empty_like(x.value());
  top_softmax(x.value(), k, p);
  Tape* tape = Tape::recording(x);
  Var output(p, tape);
  if (tape) {
    auto& node = tape->add<TopSoftmaxNode>(output);
    node.x_gradient = x.gradient();
    node.p = std::move(p);
  }
  return output;
}

}  // namespace sink
