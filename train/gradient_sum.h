// GradientSum: the gradients of a step, summed over all its micro-batches, of which every rank has its own.
//
// `ordered`: ((g_0 + g_1) + g_2) + ... in the order of micro-batches, of which rank r of N computes those with index
// i % N == r: a round of N at a time, so that any number of ranks, one included, gives the same bits. Else a rank adds
// up its own as they come, which spares it rounds of communication, and then the ranks' sums are added.
//
// A section's gradients leave as soon as backward is through with it, and travel while the rest is computed.
#pragma once

#include "autograd/parameter_arena.h"
#include "engine/comm/communicator.h"
#include "model/forward_hooks.h"

namespace sink {

class GradientSum : public ForwardHooks {
 public:
  // Over the gradients of `parameters`. `everywhere`: every rank gets the whole sum; else each its chunk of every
  // section (the optimiser's state is sharded), and the rest of gradients() is not to be read.
  GradientSum(ParameterArena& parameters, Communicator& ranks, std::int64_t rounds, bool ordered, bool everywhere);

  // Before and after forward and backward of round `round`; after the last one the sum is in gradients().
  void begin_round(std::int64_t round);
  void end_round();

  // In between, these are the hooks of forward: when backward is back at such a point, the gradients of what forward
  // did after it are complete.
  void residual_pre(std::int64_t layer, Residual&) override { reduce_on_return(layer + 1); }
  void residual_post(std::int64_t layer, Residual&) override {
    if (layer + 2 == last_section()) reduce_on_return(layer + 2);
  }

 private:
  bool is_last() const { return round_ + 1 == rounds_; }
  // Whether this round's gradients are added to others outside of the operations.
  bool sums_rounds() const { return ordered_ && rounds_ > 1; }
  // Section 0 is the embedding, 1 ... L are the blocks, the last is what comes after them.
  std::int64_t last_section() const { return static_cast<std::int64_t>(parameters_.sections().size()) - 1; }
  void reduce_on_return(std::int64_t section);
  void reduce(std::int64_t section);
  void end_of_one_rank();
  Tensor section(const Tensor& whole, std::int64_t n) const;

  ParameterArena& parameters_;
  Communicator& ranks_;
  std::int64_t rounds_, round_ = 0, handed_over_ = 0;
  bool ordered_, everywhere_;
  std::vector<Tensor> sums_;  // of rounds before this one: of each section, this rank's chunk; of one rank, of all
};

}  // namespace sink
