// record: how an operation puts itself on the tape (tape.h has an example).
#pragma once

#include <array>
#include <concepts>
#include <utility>

#include "autograd/tape.h"

namespace sink {

// Whether a gradient has to reach this member of a node: a Var, a Gradient, a Parameter by its address, or a struct of
// Vars that has requires_grad() itself. Anything else (tensors, tables, settings) is a constant of the operation.
template <class T>
bool requires_grad(const T& saved) {
  if constexpr (requires { saved.requires_grad(); }) return saved.requires_grad();
  if constexpr (requires { saved->var(); }) return saved->var().requires_grad();
  return false;
}

// The tape that an operation with these inputs is recorded on; null if there is none or no input requires a gradient.
template <class... Inputs>
Tape* recording_tape(const Inputs&... inputs) {
  return (requires_grad(inputs) || ...) ? Tape::active() : nullptr;
}

// A node of the tape around an operation's struct. Its `backward` takes one gradient per output. An operation may
// declare `static bool allows_undefined_grad(std::size_t output)`. The number of outputs is an int: gdb does not find
// the type of a node whose name has "1ul".
template <class Op, int kOutputs>
struct RecordedNode final : Node {
  explicit RecordedNode(Op op) : op(std::move(op)) {}

  const char* name() const override { return Op::name; }
  void backward() override { backward_of_outputs(std::make_index_sequence<kOutputs>{}); }
  bool allows_undefined_grad([[maybe_unused]] std::size_t output) const override {
    if constexpr (requires { Op::allows_undefined_grad(output); }) return Op::allows_undefined_grad(output);
    return false;
  }

  Op op;

 private:
  // The gradients are handed over, so that the operation may be their only holder and write to them in place.
  template <std::size_t... i>
  void backward_of_outputs(std::index_sequence<i...>) {
    op.backward(outputs[i].take()...);
  }
};

// Makes Vars of the outputs of an operation. Where a tape is alive and one of `saved` requires a gradient, appends a
// node with Op{saved...} to the tape, and the Vars require gradients, too.
template <class Op, std::size_t kOutputs, class... Saved>
std::array<Var, kOutputs> record(std::array<Tensor, kOutputs> outputs, Saved&&... saved) {
  std::array<Var, kOutputs> vars;
  Tape* tape = recording_tape(saved...);
  for (std::size_t i = 0; i < kOutputs; ++i) vars[i] = Var(std::move(outputs[i]), tape != nullptr);
  if (tape) {
    auto node = std::make_unique<RecordedNode<Op, int{kOutputs}>>(Op{std::forward<Saved>(saved)...});
    for (const Var& var : vars) node->outputs.push_back(var.gradient());
    tape->add(std::move(node));
  }
  return vars;
}

template <class Op, class... Saved>
Var record(Tensor output, Saved&&... saved) {
  return record<Op>(std::array{std::move(output)}, std::forward<Saved>(saved)...)[0];
}

// What an operation is whose output has the elements of its input at other places, or sums of them: its backward reads
// dy alone, one for each output, by the function kBackward(dy..., dx). The struct of the operation adds its name.
template <auto kBackward>
struct MovesElements {
  Gradient dx;

  void backward(const std::same_as<Tensor> auto&... dy) {
    Tensor moved = dx.grad_buffer();
    kBackward(dy..., moved);
    dx.accumulate(std::move(moved));
  }
};

}  // namespace sink
