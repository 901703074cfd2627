// Tape: the operations of a forward pass in the order they ran; backward walks it in reverse. An operation with a
// gradient is a plain struct, whose members a debugger shows by name, and a function:
//
//   struct SquareNode {                       // y = x^2
//     static constexpr const char* name = "square";
//     Var x;                                  // what backward reads
//     void backward(const Tensor& dy) { ... } // dy = d loss / dy; adds 2 x dy to x.gradient()
//   };
//   Var square(const Var& x) {
//     Tensor y = ...;                         // the forward computation
//     return record<SquareNode>(y, x);        // record.h: the output, then the members of the struct in order
//   }
//
//   Tape tape;                                // while none is alive, nothing is recorded and nothing saved
//   Var loss = square(x);
//   tape.backward(loss);                      // x.grad() is 2 x
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autograd/var.h"

namespace sink {

// An operation that has run, as the tape sees it.
struct Node {
  virtual ~Node() = default;
  virtual const char* name() const = 0;
  // Reads the gradients of the outputs and adds to those of the inputs that require one.
  virtual void backward() = 0;
  // Whether the gradient of output i may be undefined if none has arrived. Else backward() finds zeros there.
  virtual bool allows_undefined_grad(std::size_t) const { return false; }

  std::vector<Gradient> outputs;
  const Tensor& output_grad(std::size_t i = 0) const { return outputs[i].value(); }
  // Whether a gradient has reached any output; if so, outputs that none has reached count as zero.
  bool complete_grads() const;
};

class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // The innermost living tape of this thread, or null.
  static Tape* active();
  void add(std::unique_ptr<Node> node) { nodes_.push_back(std::move(node)); }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }

  // Runs backward from d loss = 1, for a loss of one element. `pre_hook`, if any, is called with each node before it
  // runs, when the gradients of its outputs are complete.
  using PreHook = std::function<void(const Node&)>;
  void backward(const Var& loss, const PreHook& pre_hook = {});

  // Runs backward from the gradients that the outputs already have. Every node is dropped once it has run, and with it
  // what it saved and the gradients of its outputs; those of parameters and other leaves stay.
  void backward_from_outputs(const PreHook& pre_hook = {}) {
    for (; !nodes_.empty(); nodes_.pop_back()) {
      Node& node = *nodes_.back();
      if (node.complete_grads()) {
        if (pre_hook) pre_hook(node);
        node.backward();
      }
      for (const Gradient& output : node.outputs) output.clear();
    }
  }

  // Calls `f` when the backward pass reaches this point: after the nodes recorded later, before those recorded earlier.
  // Does nothing if no tape of this thread is alive.
  static void backward_hook(std::function<void()> f);

  // While one lives, this thread records nothing, as if no Tape were alive.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Tape* paused_;
  };

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  Tape* outer_;
};

}  // namespace sink
