// Tape: the list of operations in the order they ran; backward walks it in reverse. While no Tape is alive nothing is
// recorded and nothing saved, so evaluation needs no switch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autograd/node.h"

namespace sink {

class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // The innermost living tape of this thread, or null. Operations record themselves with record() (record.h).
  static Tape* active();
  void add(std::unique_ptr<Node> node) { nodes_.push_back(std::move(node)); }

  // Calls `f` when the backward pass reaches this point: after the nodes recorded later, before those recorded earlier.
  // Does nothing if no tape of this thread is alive.
  static void backward_hook(std::function<void()> f);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }

  // Runs backward from d loss = 1, for a loss of one element. Every node is dropped once it has run, and with it what
  // it saved and the gradients of its outputs; those of parameters and other leaves stay. `pre_hook`, if any, is called
  // with each node before it runs, when the gradients of its outputs are complete.
  using PreHook = std::function<void(const Node&)>;
  void backward(const Var& loss, const PreHook& pre_hook = {});
  // Runs backward from the gradients that the outputs already have.
  void backward_from_outputs(const PreHook& pre_hook = {});

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
