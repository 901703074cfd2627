#include "autograd/var.h"

#include "engine/ops/add/add.h"

namespace sink {

Var::Var(Tensor value, bool requires_grad)
    : state_(std::make_shared<State>(State{std::move(value), Tensor(), requires_grad})) {}

void Var::accumulate_grad(Tensor grad) const {
  SINK_CHECK(grad.shape() == value().shape() && grad.dtype() == value().dtype(), "accumulate_grad",
             "the value is " + value().str() + ", its gradient is " + grad.str());
  if (!state_->grad.defined()) {
    state_->grad = std::move(grad);
    return;
  }
  add_into(grad_target().grad, grad);
}

Var::GradTarget Var::grad_target() const {
  if (!state_->grad.defined()) {
    state_->grad = Tensor::empty(value().shape(), value().dtype());
    return {state_->grad, false};
  }
  // A gradient handed on by a sum is shared with its neighbour, which must not see what is added here.
  if (!state_->grad.unique()) state_->grad = state_->grad.clone();
  return {state_->grad, true};
}

}  // namespace sink
