#include "autograd/var.h"

#include "engine/ops/add/add.h"

namespace sink {

void Gradient::accumulate(Tensor grad) const {
  SINK_CHECK(grad.shape() == shape() && grad.dtype() == dtype(), "gradient",
             std::string("the value is ") + name_of(dtype()) + " " + shape().str() + ", its gradient is " + grad.str());
  if (state_->value.defined())
    add_into(target().grad, grad);
  else
    state_->value = std::move(grad);
}

Gradient::Target Gradient::target() const {
  if (!state_->value.defined()) {
    state_->value = empty();
    return {state_->value, false};
  }
  // A gradient passed on by a sum is shared with its neighbour, which must not see what is added here.
  if (!state_->value.unique()) state_->value = state_->value.clone();
  return {state_->value, true};
}

Var::Var(Tensor value, bool requires_grad) : value_(std::move(value)) {
  if (requires_grad) gradient_ = Gradient(value_.shape(), value_.dtype());
}

}  // namespace sink
