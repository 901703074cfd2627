// Var: a tensor that remembers its gradient. Copies share both.
#pragma once

#include <memory>

#include "engine/tensor.h"

namespace sink {

class Var {
 public:
  Var() = default;
  explicit Var(Tensor value, bool requires_grad = false);

  bool defined() const { return state_ != nullptr; }
  const Tensor& value() const { return state_->value; }
  Tensor& mutable_value() { return state_->value; }
  // Undefined until a gradient has arrived.
  const Tensor& grad() const { return state_->grad; }
  bool requires_grad() const { return state_ && state_->requires_grad; }

  // Gradients add up. The first one is taken as it is, without a copy.
  void accumulate_grad(Tensor grad) const;

  // For operations that can write or add their gradient in place: where to, and whether to add to what is there.
  struct GradTarget {
    Tensor& grad;
    bool accumulate;
  };
  GradTarget grad_target() const;

  void clear_grad() const { state_->grad = Tensor(); }

 private:
  struct State {
    Tensor value;
    Tensor grad;
    bool requires_grad;
  };
  std::shared_ptr<State> state_;
};

}  // namespace sink
