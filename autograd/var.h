// Var: a tensor and its gradient, shared by copies.
//
// The two are separate objects so that a recorded operation keeps only what its backward reads: a Var if it needs the
// value, a Gradient if it only passes a gradient on. A value that nothing keeps is freed while the model still runs.
#pragma once

#include <memory>
#include <utility>

#include "engine/tensor.h"

namespace sink {

class Gradient {
 public:
  Gradient() = default;
  // The gradient of `value`: it has the same shape, type and device.
  explicit Gradient(const Tensor& value)
      : state_(std::make_shared<State>(State{value.shape(), value.dtype(), value.device(), Tensor(), Tensor()})) {}

  bool requires_grad() const { return state_ != nullptr; }
  const Shape& shape() const { return state_->shape; }
  DType dtype() const { return state_->dtype; }
  Device device() const { return state_->device; }
  // Undefined until a gradient has arrived.
  const Tensor& value() const { return state_->value; }

  // Gradients add up. The first one is taken as it is, without a copy (but see bind_grad_buffer).
  void accumulate(Tensor grad) const;

  // For operations that can write or add their gradient in place: where to, and whether to add to what is there.
  struct Target {
    Tensor& grad;
    bool accumulate;
  };
  Target target() const;

  // For operations that know their gradient before backward: a tensor to write it into and to pass to accumulate()
  // later. This is the bound buffer if that is free, so that nothing is copied, else a new tensor.
  Tensor grad_buffer() const;

  // From now on the gradient accumulates in this slice of a larger tensor. A gradient that had arrived is dropped.
  void bind_grad_buffer(Tensor slice) const;
  void clear() const { state_->value = Tensor(); }
  // Returns the value and clears it.
  Tensor take() const { return std::exchange(state_->value, Tensor()); }

 private:
  struct State {
    Shape shape;
    DType dtype;
    Device device;
    Tensor value;
    Tensor slice;  // the bound buffer (bind_grad_buffer); undefined: none
  };
  std::shared_ptr<State> state_;
};

class Var {
 public:
  Var() = default;
  explicit Var(Tensor value, bool requires_grad = false);

  const Tensor& value() const { return value_; }
  Tensor& mutable_value() { return value_; }
  bool requires_grad() const { return gradient_.requires_grad(); }
  const Gradient& gradient() const { return gradient_; }
  // Undefined until a gradient has arrived.
  const Tensor& grad() const { return gradient_.value(); }

 private:
  Tensor value_;
  Gradient gradient_;
};

}  // namespace sink
