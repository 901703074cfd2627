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

}  // namespace

bool Node::complete_grads() const {
  bool reached = outputs.empty();  // a hook
  for (const Gradient& output : outputs) reached |= output.value().defined();
  for (std::size_t i = 0; i < outputs.size() && reached; ++i)
    if (const Gradient& output = outputs[i]; !output.value().defined() && !allows_undefined_grad(i))
      output.accumulate(Tensor::zeros(output.shape(), output.dtype(), output.device()));
  return reached;
}

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

}  // namespace sink
