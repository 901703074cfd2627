#include "autograd/var.h"

#include <utility>

#include "engine/ops/add/add.h"

namespace sink {

void Gradient::accumulate(Tensor grad) const {
  SINK_CHECK(grad.shape() == shape() && grad.dtype() == dtype(), "gradient",
             std::string("the value is ") + name_of(dtype()) + " " + shape().str() + ", its gradient is " + grad.str());
  State& s = *state_;
  if (s.slice.defined() && grad.same_data_ptr(s.slice)) {  // grad_buffer() comes back, maybe after other gradients
    Tensor others = std::exchange(s.value, s.slice);
    if (others.defined()) add_into(s.value, others);
  } else if (s.value.defined()) {
    add_into(target().grad, grad);
  } else if (s.slice.defined() && s.slice.unique()) {
    s.slice.copy_from(grad);
    s.value = s.slice;
  } else {
    s.value = std::move(grad);
  }
}

Gradient::Target Gradient::target() const {
  State& s = *state_;
  if (!s.value.defined()) {
    s.value = grad_buffer();
    return {s.value, false};
  }
  // The backward pass of a sum gives both inputs one gradient, shared: what is added to one must not reach the other. A
  // slice of the arena is never shared.
  if (!s.value.same_data_ptr(s.slice) && !s.value.unique()) s.value = s.value.clone();
  return {s.value, true};
}

Tensor Gradient::grad_buffer() const {
  bool free = state_->slice.defined() && state_->slice.unique();  // holds no gradient, and no operation has it
  return free ? state_->slice : Tensor::empty(shape(), dtype(), device());
}

void Gradient::bind_grad_buffer(Tensor slice) const {
  SINK_CHECK(slice.shape() == shape() && slice.dtype() == dtype(), "gradient",
             "the gradient is " + shape().str() + ", the slice for it " + slice.str());
  state_->value = Tensor();
  state_->slice = std::move(slice);
}

Var::Var(Tensor value, bool requires_grad) : value_(std::move(value)) {
  if (requires_grad) gradient_ = Gradient(value_);
}

}  // namespace sink
