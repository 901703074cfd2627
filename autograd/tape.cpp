#include "autograd/tape.h"

namespace sink {
namespace {

thread_local Tape* active_tape = nullptr;

// A point of the tape without an operation, and so without outputs.
struct BackwardHookNode : Node {
  explicit BackwardHookNode(std::function<void()> f) : f(std::move(f)) {}
  const char* name() const override { return "backward_hook"; }
  void backward() override { f(); }
  std::function<void()> f;
};

// A node runs if a gradient has reached any of its outputs; outputs that none has reached count as zero.
bool complete_grads(const Node& node) {
  bool reached = node.outputs.empty();  // a hook
  for (const Gradient& output : node.outputs) reached |= output.value().defined();
  if (!reached) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Gradient& output = node.outputs[i];
    if (!output.value().defined() && !node.allows_undefined_grad(i))
      output.accumulate(Tensor::zeros(output.shape(), output.dtype(), output.device()));
  }
  return true;
}

}  // namespace

Tape::Tape() : outer_(active_tape) { active_tape = this; }

Tape::~Tape() { active_tape = outer_; }

Tape* Tape::active() { return active_tape; }

void Tape::backward_hook(std::function<void()> f) {
  if (Tape* tape = active()) tape->add(std::make_unique<BackwardHookNode>(std::move(f)));
}

Tape::Pause::Pause() : paused_(active_tape) { active_tape = nullptr; }

Tape::Pause::~Pause() { active_tape = paused_; }

void Tape::backward(const Var& loss, const PreHook& pre_hook) {
  SINK_CHECK(loss.value().size() == 1, "backward", "expected a loss of one element, got " + loss.value().str());
  SINK_CHECK(loss.requires_grad(), "backward",
             "the loss requires no gradient: none of its inputs requires one, or no Tape is alive");
  loss.gradient().accumulate(Tensor::full(loss.value().shape(), 1, loss.value().dtype(), loss.value().device()));
  backward_from_outputs(pre_hook);
}

void Tape::backward_from_outputs(const PreHook& pre_hook) {
  for (; !nodes_.empty(); nodes_.pop_back()) {
    Node& node = *nodes_.back();
    if (complete_grads(node)) {
      if (pre_hook) pre_hook(node);
      node.backward();
    }
    for (const Gradient& output : node.outputs) output.clear();
  }
}

}  // namespace sink
