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

  // The living tape of this thread if one of the inputs wants a gradient, else null: how an operation asks whether to
  // record itself.
  template <class... Vars>
  static Tape* recording(const Vars&... inputs) {
    return (inputs.requires_grad() || ...) ? active() : nullptr;
  }

  // Appends a node of type N that made `outputs`; the caller fills in what it saves.
  template <class N, class... Vars>
  N& add(const Vars&... outputs) {
    auto node = std::make_unique<N>();
    node->outputs = {outputs.gradient()...};
    N& added = *node;
    nodes_.push_back(std::move(node));
    return added;
  }

  // Has `f` called when backward comes back to this point: all that was recorded after it has run, nothing before it
  // has. Nothing where no tape of this thread is alive.
  static void backward_hook(std::function<void()> f);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }

  // Starts from d loss = 1 for a loss of one element. Every node is dropped once it has run, and with it what it saved
  // and the gradients of its outputs; those of parameters and other leaves stay. `before`, if any, sees each node that
  // runs, with the gradients of its outputs complete.
  using Watch = std::function<void(const Node&)>;
  void backward(const Var& loss, const Watch& before = {});
  // The same from gradients that the outputs have been given.
  void backward_from_outputs(const Watch& before = {});

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
  static Tape* active();

  std::vector<std::unique_ptr<Node>> nodes_;
  Tape* outer_;
};

}  // namespace sink
